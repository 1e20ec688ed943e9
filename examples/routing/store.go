package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/cache"
)

// A remote is the router's store of records, for the workers. Any store that several
// processes can use does as well, such as cache/redis.
type remote struct {
	url    string
	client http.Client
}

func (s *remote) Get(ctx context.Context, key string) ([]byte, error) {
	return s.do(ctx, http.MethodGet, key, "", nil)
}

func (s *remote) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	_, err := s.do(ctx, http.MethodPut, key, keep.String(), value)
	return err
}

func (s *remote) Delete(ctx context.Context, key string) error {
	_, err := s.do(ctx, http.MethodDelete, key, "", nil)
	return err
}

func (s *remote) do(ctx context.Context, method, key, keep string, value []byte) ([]byte, error) {
	query := url.Values{"key": {key}, "keep": {keep}}.Encode()
	req, err := http.NewRequestWithContext(ctx, method, s.url+"/?"+query, bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return io.ReadAll(resp.Body)
	case http.StatusNotFound:
		return nil, fs.ErrNotExist
	}
	return nil, fmt.Errorf("the store answers with status %d", resp.StatusCode)
}

// storeHandler serves a store to remotes.
func storeHandler(s cache.Store) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		q, ctx := req.URL.Query(), req.Context()
		value, err := io.ReadAll(req.Body)
		switch {
		case err != nil:
		case req.Method == http.MethodGet:
			value, err = s.Get(ctx, q.Get("key"))
		case req.Method == http.MethodPut:
			keep, _ := time.ParseDuration(q.Get("keep"))
			value, err = nil, s.Put(ctx, q.Get("key"), value, keep)
		default:
			value, err = nil, s.Delete(ctx, q.Get("key"))
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			http.NotFound(w, req)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Write(value)
		}
	})
}
