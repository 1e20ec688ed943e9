package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/disk"
	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/origin"
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

// profileByName returns a profile.
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
}

// flags adds the flags that all of these commands have. token says what --token is for.
func (o *siteFlags) flags(cmd *cobra.Command, token string) {
	f := cmd.Flags()
	agent := cmp.Or(os.Getenv("POLITE_AGENT"), defaultAgent)
	f.StringVar(&o.agent, "agent", agent, "the `User-Agent` of all requests (default $POLITE_AGENT, or \""+defaultAgent+"\")")
	f.Lookup("agent").DefValue = "" // so that the help is the same everywhere
	f.StringVar(&o.token, "token", "", token)
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "longest `duration` of fetching one robots.txt, redirects and retries included")
	f.BoolVar(&o.json, "json", false, "print one JSON object per line")
	profileFlag(cmd, &o.profile)
}

// decidesFor returns the product tokens that decisions are made for.
func (o *siteFlags) decidesFor(crawler *fetcher.Transport) string {
	return cmp.Or(o.token, crawler.Token())
}

// checkNames checks --agent and --token.
func (o *siteFlags) checkNames() error {
	if err := checkTokens(o.token); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(o.agent) == "":
		return usageErrorf("--agent is empty; want a User-Agent such as \"ExampleBot/1.0 (+https://example.com/bot)\"")
	case strings.ContainsFunc(o.agent, unicode.IsControl):
		return usageErrorf("--agent is %s; want no control characters", clean.Quote(o.agent, longText))
	}
	return nil
}

// unnamed is the error for an agent that does not say which groups to obey.
func (o *siteFlags) unnamed() error {
	if o.token == "" {
		return usageErrorf("--agent %q does not begin with the name of a crawler; want its product token in --token", o.agent)
	}
	return usageErrorf("--token %q is not part of --agent %q; want both, so that webmasters know which group to write", o.token, o.agent)
}

// inAgent reports whether the agent has all product tokens of --token.
func (o *siteFlags) inAgent() bool {
	for token := range strings.SplitSeq(o.token, ",") {
		if !strings.Contains(strings.ToLower(o.agent), strings.ToLower(strings.TrimSpace(token))) {
			return false
		}
	}
	return true
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
	if err := o.checkNames(); err != nil {
		return nil, nil, err
	}
	token := o.token
	if !o.inAgent() {
		token = "" // decisions are made for it, but requests carry the agent
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
		Token: token, Profile: profile, Store: store, Base: c.base, Schemes: []string{"ftp"}, Timeout: o.timeout, Pace: limits, Trace: trace,
	})
	if err != nil {
		closeStore()
		return nil, nil, o.unnamed()
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
		c.warn("the store failed %s, which changed no decision; the first error: %s", display.Count(times, "time", "times"), t.first)
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
		s, err := redis.Open(where, &redis.Options{Timeout: redisTimeout})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	case isURL:
		return nil, nil, usageErrorf("no store %q; want a file, or redis:// or rediss:// and a server", scheme+"://")
	}
	s, err := disk.Open(where, nil)
	if err != nil {
		return nil, nil, errors.New("--store " + strings.TrimPrefix(err.Error(), "disk: "))
	}
	return s, s.Close, nil
}

// completeURL adds a scheme to what looks like a URL without one: https, or http for a host
// of this machine.
func completeURL(text string) (full string, added bool) {
	if scheme, _, ok := strings.Cut(text, "://"); ok && !strings.ContainsAny(scheme, "/?#") {
		return text, false
	}
	u, err := url.Parse("https://" + text)
	if err != nil || u.User != nil || u.Hostname() == "" || u.Host[0] == '.' {
		return text, false
	}
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", strings.HasSuffix(host, ".localhost"), err == nil && ip.IsLoopback():
		return "http://" + text, true
	case err == nil, strings.Contains(host, "."), u.Port() != "":
		return "https://" + text, true
	}
	return text, false
}

// noFiles refuses arguments that name a file where a URL is wanted.
func noFiles(args []string) error {
	for _, a := range args {
		if a == "-" {
			return usageErrorf("- is no URL; want --from - to read URLs from standard input")
		}
		if fi, err := os.Stat(a); err == nil && fi.Mode().IsRegular() {
			return usageErrorf("%s is a file; for a robots.txt use polite lint or polite match, for a list of URLs --from %[1]s", a)
		}
	}
	return nil
}

// assume returns the URL that is meant by text, and reports the first one that was typed
// without a scheme.
func (c *cli) assume(text string) string {
	full, added := completeURL(text)
	if added {
		c.reportScheme(text, full)
	}
	return full
}

// reportScheme reports the first URL of a run that got a scheme.
func (c *cli) reportScheme(text, full string) {
	if !c.assumed {
		c.assumed = true
		c.warn("%s has no scheme: assuming %s", text, full)
	}
}

// parseURL parses a URL as typed. If it is not an http, https or ftp URL with a host,
// the error says what is wanted.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var bad *url.Error
	switch {
	case strings.Index(text, "://") > 0 && !strings.Contains(text, "@") && errors.As(err, &bad):
		// Without the URL, which the message has already, and with no part of a password.
		return nil, fmt.Errorf("%w; want a URL such as https://example.com/", bad.Err)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ftp":
		return nil, errors.New("want a URL with http://, https:// or ftp:// and a host, such as https://example.com/")
	}
	if _, err := origin.Of(u); err != nil {
		return nil, err
	}
	return u, nil
}
