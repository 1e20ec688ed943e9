package disk

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Store is a cache.Store in a file. WebAssembly has none: Open and every method of a zero Store fail.
type Store struct{}

// Open returns an error that is [errors.ErrUnsupported].
func Open(path string, _ *Options) (*Store, error) {
	return nil, fmt.Errorf("disk: %s: %w on %s/%s: no file locks; use cache.NewMemory, or a store of your own",
		path, errors.ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}

// Get returns [errors.ErrUnsupported].
func (*Store) Get(context.Context, string) ([]byte, error) { return nil, errors.ErrUnsupported }

// Put returns [errors.ErrUnsupported].
func (*Store) Put(context.Context, string, []byte, time.Duration) error { return errors.ErrUnsupported }

// Delete returns [errors.ErrUnsupported].
func (*Store) Delete(context.Context, string) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Store) Close() error { return nil }
