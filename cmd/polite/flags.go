package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/disk"
	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// defaultAgent names this program and a page about it (RFC 9309, section 2.2.1).
const defaultAgent = "polite/" + version + " (+https://github.com/rfc9309/polite)"

// profiles are the names that --profile accepts.
var profiles = [...]string{"rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"}

// profileFlag adds --profile, with completion.
func profileFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "profile", profiles[0], "the `profile` that decides: "+strings.Join(profiles[:], ", "))
	cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profiles[:], cobra.ShellCompDirectiveNoFileComp))
}

func profileByName(name string) (*policy.Profile, error) {
	p, ok := policy.ByName(name)
	if !ok {
		return nil, usageErrorf("no profile %q; want one of %s", name, strings.Join(profiles[:], ", "))
	}
	return p, nil
}

// siteFlags are the flags of the commands that fetch robots.txt.
type siteFlags struct {
	agent   string        // --agent
	token   string        // --token
	profile string        // --profile
	store   string        // --store
	timeout time.Duration // --timeout
	json    bool          // --json
	public  bool          // refuse pages at addresses that are not public
}

// flags adds the flags that all of these commands have.
func (o *siteFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", defaultAgent, "the `User-Agent` of all requests")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "longest `duration` of fetching one robots.txt, redirects and retries included")
	f.BoolVar(&o.json, "json", false, "print one JSON object per line")
	profileFlag(cmd, &o.profile)
}

// tokenFlag adds --token, for commands whose results depend on the crawler's name.
func (o *siteFlags) tokenFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.token, "token", "", "the product `token` that groups must name, a part of the agent (default: its first word)")
}

// storeFlag adds --store, for commands that may use a cached copy of robots.txt.
func (o *siteFlags) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.store, "store", "", "keep cached copies in this `file` or on a server: redis://[user:password@]host:port/0")
}

// transport returns the Transport that the flags describe, and a function that the caller
// must call when it is done. Without limits it paces by default, and defers after a wait of
// --timeout.
func (o *siteFlags) transport(c *cli, trace *fetcher.Trace, limits *pace.Limits) (*fetcher.Transport, func() error, error) {
	profile, err := profileByName(o.profile)
	if err != nil {
		return nil, nil, err
	}
	if o.timeout <= 0 {
		return nil, nil, usageErrorf("--timeout is %v; want more than zero", o.timeout)
	}
	store, closeStore, err := openStore(o.store)
	if err != nil {
		return nil, nil, err
	}
	if trace == nil {
		trace = &fetcher.Trace{}
	}
	if limits == nil {
		limits = pace.Default()
		limits.MaxWait = o.timeout
	}
	failures := &storeErrors{}
	trace.Store = failures.record
	t, err := fetcher.New(o.agent, &fetcher.Options{
		Token: o.token, Profile: profile, Store: store, Base: c.base, Schemes: []string{"ftp"}, Timeout: o.timeout, Pace: limits, Trace: trace,
		PageEgress: o.public,
	})
	if err != nil {
		closeStore()
		return nil, nil, &usageError{err}
	}
	return t, func() error {
		t.CloseIdleConnections()
		failures.report(c, t.Stats().StoreFailures)
		if err := closeStore(); err != nil {
			return fmt.Errorf("closing the store: %w", err)
		}
		return nil
	}, nil
}

// storeErrors keeps the first error of the store. Store errors change no
// decision, and a store that is down fails for every site, so they are reported
// once, at the end.
type storeErrors struct {
	mu    sync.Mutex
	first string
}

func (t *storeErrors) record(op, authority string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == "" {
		t.first = fmt.Sprintf("%s of %s: %v", op, authority, err)
	}
}

func (t *storeErrors) report(c *cli, times int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first != "" {
		c.warn("the store failed %s; the first error: %s", display.Count(times, "time", "times"), t.first)
	}
}

// redisTimeout is the longest wait for the server of a store. It is longer than
// the default because the server may be far away and a person can wait.
const redisTimeout = 2 * time.Second

// openStore opens the store that --store names: none, a file, or a server.
func openStore(where string) (cache.Store, func() error, error) {
	scheme, _, isURL := strings.Cut(where, "://")
	switch {
	case where == "":
		return nil, func() error { return nil }, nil
	case isURL && (strings.HasPrefix(scheme, "redis") || strings.HasPrefix(scheme, "valkey") || scheme == "unix"):
		s, err := redis.Open(where, &redis.Options{Delay: redisTimeout})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	case isURL:
		return nil, nil, usageErrorf("no store %q; want a file, or redis:// or rediss:// and a server", scheme+"://")
	}
	s, err := disk.Open(where, nil)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// parseURL parses a URL as typed. If it is not an http, https or ftp URL with a host,
// the error says what is wanted.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var bad *url.Error
	switch {
	case strings.Contains(text, "://") && errors.As(err, &bad):
		return nil, bad.Err // without the URL, which the message has already
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ftp":
		return nil, errors.New("want a URL with http://, https:// or ftp:// and a host, such as https://example.com/")
	}
	return u, nil
}
