package exam

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/internal/token"
)

// Options say how an exam is held. The zero value serves all cases on loopback.
type Options struct {
	Only   []string // patterns of names, see Select; none means all cases
	Token  string   // product token of the crawler; "" means the one in its User-Agent
	Listen string   // host:port for the list of sites, which are at the next ports; "" means loopback
	Proxy  string   // host:port of an HTTP proxy, behind which the sites have names; "" means none
}

// An Exam serves the sites of its cases until Close.
type Exam struct {
	Start time.Time

	cases   []*Case
	token   string
	host    string // of Options.Listen
	port    int    // next port of Options.Listen
	hosts   int    // hosts on loopback so far
	web     *httptest.Web
	stages  []*stage
	proxy   *site // nil without a proxy
	seed    *site
	err     error // first port that could not be taken
	harness harness
}

// A stage has the sites of a case. The first one is the main site.
type stage struct {
	e     *Exam
	c     *Case
	sites []*site
}

// A site is one site of a case.
type site struct {
	*httptest.Site
	base     string       // scheme://host:port
	address  string       // host:port
	listed   bool         // the list of start pages has the start page of the site
	robots   []string     // robots.txt and the URLs that it redirects to
	linked   []string     // pages that the pages of the site link to
	listener net.Listener // nil for a site that shares the listener of another one
	secure   *site        // https site at the same listener, or nil
}

// Open starts the sites.
func Open(o Options) (*Exam, error) {
	cases, err := Select(Cases(), o.Only)
	if err != nil {
		return nil, err
	}
	e := &Exam{Start: time.Now(), cases: cases, token: o.Token}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err == nil {
			e.port, err = strconv.Atoi(port)
		}
		if err != nil || host == "" || e.port < 1 || e.port > 60000 {
			return nil, fmt.Errorf("%q is no address to listen at; want a host that the crawler can reach and a port up to 60000, such as 192.0.2.1:8000", o.Listen)
		}
		e.host = host
	}
	e.web = httptest.New(&e.harness)
	if o.Proxy != "" {
		if err := e.openProxy(o.Proxy); err != nil {
			e.Close()
			return nil, err
		}
	}
	if err := e.build(); err != nil {
		e.Close()
		return nil, fmt.Errorf("starting the sites: %w", err)
	}
	return e, nil
}

// build makes all sites and then serves them.
func (e *Exam) build() error {
	list := &stage{e: e}
	if e.proxy != nil {
		list.sites = append(list.sites, e.proxy)
	}
	e.seed = list.newSite(false)
	for _, c := range e.cases {
		s := &stage{e: e, c: c}
		main := s.newSite(true)
		main.Robots(s.file(c.robots)).Path("/*", links())
		paths := slices.Concat([]string{first}, c.closed, c.open, []string{last})
		main.start(paths...)
		if c.build != nil {
			c.build(s)
		}
		e.stages = append(e.stages, s)
	}
	if e.err != nil {
		return e.err
	}
	e.seed.Robots(httptest.Text("User-agent: *\nDisallow: /other\n")).Path("/", links(e.URLs()...))
	for _, s := range append([]*stage{list}, e.stages...) {
		for _, at := range s.sites {
			e.serve(at)
		}
	}
	return nil
}

// serve serves a site on its listener.
func (e *Exam) serve(at *site) {
	if at.listener == nil {
		return
	}
	sites := []*httptest.Site{at.Site}
	if at.secure != nil {
		sites = append(sites, at.secure.Site)
	}
	go e.web.Serve(at.listener, sites...) // ends with the listener
}

// URLs returns the start pages of all sites.
func (e *Exam) URLs() []string {
	var urls []string
	for _, s := range e.stages {
		for _, at := range s.sites {
			if at.listed {
				urls = append(urls, at.base+"/")
			}
		}
	}
	return urls
}

// Pages returns the start pages and all pages that they link to, for a client that does not
// follow links.
func (e *Exam) Pages() []string {
	var urls []string
	for _, s := range e.stages {
		for _, at := range s.sites {
			if at.listed {
				urls = append(append(urls, at.base+"/"), at.linked...)
			}
		}
	}
	return urls
}

// Seed returns the URL of a page that links to all start pages.
func (e *Exam) Seed() string { return e.seed.base + "/" }

// Close ends all sites.
func (e *Exam) Close() {
	for _, f := range slices.Backward(e.harness.done) {
		f()
	}
}

// openProxy makes the proxy.
func (e *Exam) openProxy(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("starting the proxy: %w", err)
	}
	e.harness.Cleanup(func() { l.Close() })
	e.proxy = (&stage{e: e}).at("http", l.Addr().String(), false)
	e.proxy.listener = l
	e.proxy.Site.Proxy()
	return nil
}

// Proxy returns the URL of the proxy, or "".
func (e *Exam) Proxy() string {
	if e.proxy == nil {
		return ""
	}
	return e.proxy.base
}

// Authority returns the certificate that signs the certificates of https sites, in PEM.
func (e *Exam) Authority() []byte { return e.web.Authority() }

func (s *stage) main() *site { return s.sites[0] }

// newSite adds a site on a host of its own. On loopback each site has an address of its
// own, so that a crawler that limits the requests to a host can visit all sites at once.
func (s *stage) newSite(listed bool) *site {
	e := s.e
	if e.proxy != nil {
		return s.at("http", s.name()+":80", listed)
	}
	host := e.host
	if host == "" {
		e.hosts++
		host = fmt.Sprintf("127.93.9.%d", e.hosts)
	}
	return s.add(host, listed)
}

// sameHost adds a site at another port of the main site's host.
func (s *stage) sameHost() *site {
	host, _, _ := net.SplitHostPort(s.main().address)
	if s.e.proxy != nil {
		return s.at("http", host+":8080", true)
	}
	return s.add(host, true)
}

// name returns the host name of the next site of a case, for a crawler that uses the proxy.
func (s *stage) name() string {
	if s.c == nil {
		return "exam.example"
	}
	host := strings.NewReplacer("_", "-", ".", "-", "/", "-").Replace(s.c.Name) + ".example"
	if len(s.sites) > 0 {
		host = "other." + host
	}
	return host
}

// add adds a site at a free port, or at the next one if the ports are given.
func (s *stage) add(host string, listed bool) *site {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(s.e.port)))
	if err != nil && s.e.port == 0 { // some systems have no address of loopback but one
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	address := net.JoinHostPort(host, strconv.Itoa(max(s.e.port, 1)))
	if err != nil {
		s.e.err = cmp.Or(s.e.err, err)
		return s.at("http", address, listed)
	}
	s.e.harness.Cleanup(func() { l.Close() })
	if s.e.port > 0 {
		s.e.port++
	} else {
		address = l.Addr().String()
	}
	at := s.at("http", address, listed)
	at.listener = l
	return at
}

// secure adds the https site at the main site's address.
func (s *stage) secure() *site {
	host := s.main().address
	if s.e.proxy != nil {
		host = strings.TrimSuffix(host, ":80") + ":443"
	}
	at := s.at("https", host, true)
	s.main().secure = at
	return at
}

func (s *stage) at(scheme, address string, listed bool) *site {
	made := s.e.web.Site(scheme + "://" + address)
	at := &site{Site: made, base: made.Origin(), address: address, listed: listed, robots: []string{"/robots.txt"}}
	at.Path("/*", links())
	s.sites = append(s.sites, at)
	return at
}

// start makes the start page link to other pages.
func (at *site) start(urls ...string) {
	at.Path("/", links(urls...))
	at.linked = nil
	at.link(urls...)
}

// link adds to the pages that the site links to.
func (at *site) link(urls ...string) {
	for _, u := range urls {
		if strings.HasPrefix(u, "/") {
			u = at.base + u
		}
		at.linked = append(at.linked, u)
	}
}

// links returns a page that links to others.
func links(urls ...string) httptest.Step {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<meta charset=\"utf-8\">\n<title>A page of the exam</title>\n<p>A page of the exam.</p>\n")
	for _, u := range urls {
		fmt.Fprintf(&b, "<p><a href=\"%s\">%[1]s</a></p>\n", html.EscapeString(u))
	}
	return httptest.Text(b.String()).Header("Content-Type", "text/html; charset=utf-8")
}

// file returns a robots.txt for the crawler that requests it.
func (s *stage) file(text string) httptest.Step {
	return httptest.Handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, s.e.expand(text, r))
	})
}

// expand replaces the words in braces: {token} is the product token, {TOKEN} the token in
// the other letter case, {product} the token with its version, {agent} the User-Agent,
// {longer} and {shorter} are names that begin as the token does, and {origin} is the site.
func (e *Exam) expand(text string, r *http.Request) string {
	agent := r.UserAgent()
	name := cmp.Or(e.token, Token(agent), "unnamed")
	product := name
	if i := strings.Index(agent, name); i >= 0 {
		product, _, _ = strings.Cut(agent[i:], " ")
		product = strings.TrimRight(product, ";,)")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	text = strings.NewReplacer("{product}", product, "{agent}", cmp.Or(agent, name), "{origin}", scheme+"://"+r.Host).Replace(text)
	return names(name).Replace(text)
}

// names replaces the words that only depend on the product token.
func names(token string) *strings.Replacer {
	return strings.NewReplacer("{token}", token, "{TOKEN}", strings.Map(otherCase, token), "{longer}", token+"-news", "{shorter}", token[:max(len(token)/2, 1)])
}

func otherCase(c rune) rune {
	if unicode.IsUpper(c) {
		return unicode.ToLower(c)
	}
	return unicode.ToUpper(c)
}

// Token returns the product token that a User-Agent names: after "compatible; " if it has
// that, otherwise at the beginning.
func Token(agent string) string {
	if _, rest, ok := strings.Cut(agent, "compatible; "); ok {
		if name := token.Prefix(rest); name != "" {
			return name
		}
	}
	return token.Prefix(agent)
}

// A harness is what a web needs where there is no test.
type harness struct{ done []func() }

func (h *harness) Helper()          {}
func (h *harness) Skip(args ...any) { panic(fmt.Sprint(args...)) }
func (h *harness) Cleanup(f func()) { h.done = append(h.done, f) }
func (h *harness) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// Errorf reports a handler of the exam that panicked.
func (h *harness) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
