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
	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// defaultAgent names this program and says where to read about it (RFC 9309,
// section 2.2.1).
const defaultAgent = "polite/" + version + " (+https://github.com/rfc9309/polite)"

// profiles are the names that --profile takes.
var profiles = [...]string{"rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"}

// profileFlag adds --profile, with completion.
func profileFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "profile", profiles[0], "the `profile` by which the protocol is read: "+strings.Join(profiles[:], ", "))
	cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profiles[:], cobra.ShellCompDirectiveNoFileComp))
}

func profileByName(name string) (*policy.Profile, error) {
	p, ok := policy.ByName(name)
	if !ok {
		return nil, misused("no profile %q; want one of %s", name, strings.Join(profiles[:], ", "))
	}
	return p, nil
}

// online are the flags of every command that asks sites.
type online struct {
	agent, token, profile, store string
	timeout                      time.Duration
	json                         bool
}

// flags adds what every such command takes.
func (o *online) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", defaultAgent, "the `User-Agent` to ask with")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "longest `duration` of one retrieval of robots.txt, redirects and retries included")
	f.BoolVar(&o.json, "json", false, "one JSON object a line")
	profileFlag(cmd, &o.profile)
}

// tokenFlag is for commands whose results depend on the crawler's name.
func (o *online) tokenFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.token, "token", "", "the product `token` that groups are looked up by (default: what the agent begins with)")
}

// storeFlag is for commands that can do with a copy of robots.txt.
func (o *online) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.store, "store", "", "keep copies in this `file`, or on a server: redis://[user:password@]host:port/0")
}

// transport is the Transport that the flags ask for. The caller calls the
// function that comes with it when all is done.
func (o *online) transport(c *cli, trace *fetcher.Trace, limits *pace.Limits) (*fetcher.Transport, func() error, error) {
	profile, err := profileByName(o.profile)
	if err != nil {
		return nil, nil, err
	}
	if o.timeout <= 0 {
		return nil, nil, misused("--timeout is %v; want more than nothing", o.timeout)
	}
	store, closeStore, err := openStore(o.store)
	if err != nil {
		return nil, nil, err
	}
	if trace == nil {
		trace = &fetcher.Trace{}
	}
	heard := &trouble{}
	trace.Store = heard.hear
	t, err := fetcher.New(o.agent, &fetcher.Options{
		Token: o.token, Profile: profile, Store: store, Base: c.base, Timeout: o.timeout, Pace: limits, Trace: trace,
	})
	if err != nil {
		closeStore()
		return nil, nil, &usageError{err}
	}
	return t, func() error {
		t.CloseIdleConnections()
		heard.tell(c, t.Stats().StoreFailures)
		if err := closeStore(); err != nil {
			return fmt.Errorf("closing the store: %w", err)
		}
		return nil
	}, nil
}

// trouble is what a store had. It changes no ruling and is told of when all is
// done: a store that is down fails for every site.
type trouble struct {
	mu    sync.Mutex
	first string
}

func (t *trouble) hear(op, authority string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == "" {
		t.first = fmt.Sprintf("%s of %s: %v", op, authority, err)
	}
}

func (t *trouble) tell(c *cli, times int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first != "" {
		c.warn("the store was of no help %s, first: %s", paper.Count(times, "time", "times"), t.first)
	}
}

// serverPatience is how long the server of a store is waited for. It may stand on
// another continent, and a person is rather kept waiting than without it.
const serverPatience = 2 * time.Second

// openStore opens what --store names: nothing, a file, or a server.
func openStore(where string) (cache.Store, func() error, error) {
	scheme, _, isURL := strings.Cut(where, "://")
	switch {
	case where == "":
		return nil, func() error { return nil }, nil
	case isURL && (strings.HasPrefix(scheme, "redis") || strings.HasPrefix(scheme, "valkey") || scheme == "unix"):
		s, err := redis.Open(where, &redis.Options{Delay: serverPatience})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	case isURL:
		return nil, nil, misused("no store %q; want a file, or redis:// or rediss:// and a server", scheme+"://")
	}
	s, err := disk.Open(where, nil)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// parse reads a URL as typed. What is no http or https URL with a host gets no
// ruling, and the reader a hint.
func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return nil, bad.Err // the URL stands next to it already
	case err != nil:
		return nil, err
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("want an http or https URL with a host, such as https://example.com/")
	}
	return u, nil
}
