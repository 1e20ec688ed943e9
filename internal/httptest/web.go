// Package httptest is a web in memory, scripted by a test: a real [http.Transport] at one end, a real [http.Server] at the
// other, and between them connections that live in buffers. Nothing in it touches a name server, and only [Web.Serve] touches
// a socket.
//
// # A site is a script
//
// A site has an origin, and for each path a list of steps: each request takes the next step, and the last step repeats. The
// test runs inside a [synctest] bubble, so that a month passes in a millisecond:
//
//	synctest.Test(t, func(t *testing.T) {
//		web := httptest.New(t)
//		site := web.Site("https://example.com").Robots(
//			httptest.Text("User-agent: *\nDisallow: /x\n").Header("Cache-Control", "max-age=60"),
//			httptest.Status(503).Header("Retry-After", "120"),
//			httptest.Hang())
//		client := web.Client()
//		for _, want := range []int{200, 503} {
//			res, err := client.Get("https://example.com/robots.txt")
//			if err != nil {
//				t.Fatal(err)
//			}
//			res.Body.Close()
//			if res.StatusCode != want {
//				t.Errorf("got %d, want %d", res.StatusCode, want)
//			}
//			time.Sleep(31 * 24 * time.Hour)
//		}
//		if got := len(site.Requests("/robots.txt")); got != 2 {
//			t.Errorf("requests: got %d, want 2", got)
//		}
//	})
//
// Everything the web holds is closed by t.Cleanup, which runs inside the bubble; so [New] must be called inside it too.
// The web works outside a bubble as well, where waiting takes real time, and [Web.Serve] serves its sites on a real listener. The web cannot close a body that the client leaves
// open: over HTTP/1.1 a goroutine of net/http stays, and the bubble fails the test.
//
// # Sites, names and addresses
//
// An origin may have any port, a name beyond ASCII, a literal address, or a wildcard as its first label
// ("http://*.example.com" is every name below example.com). Each host gets a public address of its own; [Site.At] moves it
// to another, for example a private one, which several hosts may share. [Web.Names] scripts the resolver and [Site.Connect]
// the connections. The dialer, [Web.DialContext], takes names and literal addresses, and [Web.LookupNetIP] has the
// signature of a resolver, so a client may look at the addresses before it dials one.
//
// [Site.Proxy] makes a site a proxy for the rest of the web.
//
// A path that has no script is answered with 404, and a request that names an origin the server does not have with 421.
//
// # What can go wrong, and where
//
//   - The name: [NoSuchHost], [ServFail], [NoAnswer]; a name without a site does not exist.
//   - The connection: [Refused], [Unreachable], [Lost], [Silent], [HungUp], [Torn], [Plain], and [Site.Down] for a while.
//   - TLS: [Expired], [WrongName], [UnknownIssuer], [NoCertificate].
//   - The head: [Hang], [Reset], [Close], [Status] with any number, [Step.Early], [Step.HeaderFlood], [EndlessHeader],
//     [Redirect] with any bytes, and [Raw] for everything else.
//   - The body: [Step.Cut], [Step.ResetAfter], [Step.HangAfter], [Step.Drip], [Flood], [GzipBomb], [Step.Length],
//     [Step.BrokenChunk], [Step.HTTP10]; a Content-Encoding set by [Step.Header] is a false or an unknown one.
//   - The time: [Step.After], [Step.DateHeader], [Step.SharedCache], [Step.ETag], [Step.LastModified].
//
// Steps compose: Text("...").Gzip().Status(206).Drip(1, time.Second).ResetAfter(9).After(time.Minute) is one.
//
// # What arrived
//
// [Web.Requests], [Web.Dials] and [Web.Lookups] return what the client did, in order, with the time by the clock of the test.
package httptest

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// T is the part of [testing.TB] that a web needs. A program that is no test can give its own.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Cleanup(func())
}

// A Web is a set of sites and the network between them and one client.
type Web struct {
	t       T
	ctx     context.Context // ends with the test
	accept  chan net.Conn
	crawler netip.Addr // address of the client
	start   time.Time
	served  atomic.Bool // Serve was called

	ca func() *authority // creates the certificate authority at the first call

	mu       sync.Mutex
	hosts    map[string]*host
	sites    map[string]*Site // by origin
	order    []*Site          // in the order of creation
	open     map[*conn]openConn
	lastHost netip.Addr
	lastConn int
	requests []Request
	dials    []Dial
	lookups  []Lookup
	clients  []*http.Transport
	busy     sync.WaitGroup // counts served connections and running handlers
}

// New returns an empty web, which ends with the test.
func New(t T) *Web {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Web{
		t: t, ctx: ctx, accept: make(chan net.Conn), start: time.Now(),
		ca:       sync.OnceValue(newAuthority),
		crawler:  netip.MustParseAddr("198.51.100.7"),
		lastHost: netip.MustParseAddr("93.184.216.0"),
		hosts:    map[string]*host{}, sites: map[string]*Site{}, open: map[*conn]openConn{},
	}
	server := &http.Server{
		Handler:        http.HandlerFunc(w.serve),
		ErrorLog:       log.New(io.Discard, "", 0),
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnContext:    withConn,
		ConnState:      w.track,
		MaxHeaderBytes: 1 << 20,
	}
	served := make(chan struct{})
	go func() { // ends when ctx ends, by listener.Accept
		defer close(served)
		server.Serve(listener{w})
	}()
	t.Cleanup(func() { w.close(server, cancel, served) })
	return w
}

// close ends every connection and waits for the handlers that serve them.
func (w *Web) close(server *http.Server, cancel func(), served chan struct{}) {
	cancel()
	<-served
	w.mu.Lock()
	open, clients := maps.Clone(w.open), w.clients
	w.mu.Unlock()
	for _, c := range clients {
		c.CloseIdleConnections()
	}
	for client, far := range open {
		far.server.Close()
		client.Close()
	}
	server.Close()
	w.busy.Wait()
}

// track counts the connections that the server serves.
func (w *Web) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		w.busy.Add(1)
	case http.StateClosed, http.StateHijacked:
		w.busy.Done()
	}
}

// Transport returns a new transport whose only network is the web and whose only certificate authority is the authority of
// the web. It may be changed and cloned. Its other settings are as in [http.DefaultTransport], except that it uses no proxy
// and keeps any number of idle connections. With a limit, net/http may close the connection of an answer without a body before it
// returns the answer, and then it returns the error "too many idle connections".
func (w *Web) Transport() *http.Transport { return w.transport("") }

func (w *Web) transport(via string) *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return w.dial(ctx, via, network, address)
		},
		TLSClientConfig:       &tls.Config{RootCAs: w.ca().pool},
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients = append(w.clients, t)
	return t
}

// Client returns a client with a new [Web.Transport].
func (w *Web) Client() *http.Client { return &http.Client{Transport: w.Transport()} }

// A Request is one request as it arrived at a server.
type Request struct {
	Time   time.Time
	Method string
	Target string // request target as sent
	Origin string // scheme, Host header, and port unless it is the default port
	Proto  string // "HTTP/1.1", "HTTP/2.0"
	Header http.Header
	From   string         // address and port of the client
	To     netip.AddrPort // address and port that the client connected to
	Conn   int            // number of the connection, as in Dial.Conn
}

// URL returns the requested URL.
func (r Request) URL() string {
	if r.Target != "" && r.Target[0] != '/' {
		return r.Target
	}
	return r.Origin + r.Target
}

// String returns the method and the URL: "GET https://example.com/robots.txt".
func (r Request) String() string { return r.Method + " " + r.URL() }

// Requests returns the requests to all sites so far, in order.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Dials returns every attempt to connect so far, in the order in which the attempts ended.
func (w *Web) Dials() []Dial {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dials)
}

// Lookups returns every lookup of a name so far, in the order in which the lookups ended.
func (w *Web) Lookups() []Lookup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lookups)
}

// Forget removes the requests, dials and lookups so far, so that a test that runs for hours does not keep them all.
func (w *Web) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.dials, w.lookups = nil, nil, nil
}

// Conns returns the number of open connections.
func (w *Web) Conns() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}
