package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file has the web: what each host answers, and when. Nothing of it is stored. It
// is derived from the seed and the number of the host whenever it is needed.

// A world is a web of hosts.
type world struct {
	seed  uint64
	files []*file
	span  time.Duration // the time that is replayed
}

// A fault is what a host does in place of giving its robots.txt.
type fault uint8

const (
	none       fault = iota
	gone             // 404
	removed          // 410
	denied           // 403
	restricted       // 401
	failing          // 500
	overloaded       // 503 with Retry-After
	busy             // 429 with Retry-After
	nameless         // the name does not resolve
	refused          // no connection
	insecure         // the TLS handshake fails
	silent           // no answer at all
	broken           // the body ends too early
	looping          // endless redirects
)

// faults are the shares of hosts whose robots.txt always meets a fault.
var faults = []share[fault]{
	{0.800, none}, {0.125, gone}, {0.002, removed}, {0.020, denied}, {0.003, restricted},
	{0.004, failing}, {0.003, overloaded}, {0.003, busy}, {0.015, nameless}, {0.008, refused},
	{0.005, insecure}, {0.006, silent}, {0.002, broken}, {0.004, looping},
}

// spells are the faults of hosts that are down for a while, with all their pages.
var spells = []share[fault]{{0.40, overloaded}, {0.25, failing}, {0.15, silent}, {0.20, refused}}

// spellShare is the share of hosts that are down for a while.
const spellShare = 0.08

// changeShare is the share of hosts whose robots.txt becomes another file.
const changeShare = 0.03

// hops are the numbers of redirects.
var hops = []share[int]{{0.88, 0}, {0.09, 1}, {0.03, 2}}

// A lifetime is what an answer says about its lifetime.
type lifetime struct {
	control string        // Cache-Control
	expires time.Duration // Expires, from now; 0: no such field
	age     time.Duration // Age
}

var lifetimes = []share[lifetime]{
	{0.62, lifetime{}},
	{0.10, lifetime{control: "max-age=86400"}},
	{0.05, lifetime{control: "public, max-age=604800"}},
	{0.06, lifetime{control: "max-age=14400", age: 30 * time.Minute}},
	{0.06, lifetime{control: "max-age=3600"}},
	{0.02, lifetime{control: "max-age=600"}},
	{0.01, lifetime{control: "max-age=300"}},
	{0.04, lifetime{control: "no-cache"}},
	{0.02, lifetime{control: "private, max-age=0"}},
	{0.02, lifetime{expires: time.Hour}},
}

// pages are the answers to pages.
var pages = []share[fault]{
	{0.963, none}, {0.03, gone}, {0.003, failing}, {0.001, overloaded}, {0.001, busy}, {0.001, silent}, {0.001, refused},
}

// A share is one of several values and how frequent it is.
type share[T any] struct {
	part  float64
	value T
}

// pick returns one of the values by a number from 0 to 1.
func pick[T any](list []share[T], x float64) T {
	for _, s := range list[:len(list)-1] {
		if x -= s.part; x < 0 {
			return s.value
		}
	}
	return list[len(list)-1].value
}

// What a random number is for.
const (
	forFault = iota
	forSpell
	forSpellStart
	forSpellLength
	forSpellFault
	forHops
	forLifetime
	forTag
	forLatency
	forSlow
	forFile
	forChange
	forChangeTime
	forFirstVisit
	forVisit
	forTarget
	forPage
)

// random returns a number from 0 to 1 that depends on the seed, the host, what it is
// for and n.
func (w *world) random(host uint32, what, n uint64) float64 {
	x := w.seed
	for _, v := range [...]uint64{uint64(host), what, n} {
		// The finalizer of SplitMix64.
		x += v + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}

// A site is what a host is like.
type site struct {
	fault    fault
	hops     int
	lifetime lifetime
	tagged   bool // its answers have entity tags
	latency  time.Duration
	file     [2]int // before and after the change
	change   time.Duration
	down     fault // from downFrom to downTo
	downFrom time.Duration
	downTo   time.Duration
}

// site returns what a host is like.
func (w *world) site(host uint32) site {
	random := func(what uint64) float64 { return w.random(host, what, 0) }
	s := site{
		fault: pick(faults, random(forFault)), hops: pick(hops, random(forHops)), lifetime: pick(lifetimes, random(forLifetime)),
		tagged: random(forTag) < 0.6, change: math.MaxInt64,
		latency: time.Duration(float64(50*time.Millisecond) * math.Pow(16, random(forLatency))), // 50 to 800 ms
	}
	if random(forSlow) < 0.02 {
		s.latency = 3*time.Second + 10*s.latency
	}
	for i := range s.file {
		s.file[i] = int(w.random(host, forFile, uint64(i)) * float64(len(w.files)))
	}
	if random(forChange) < changeShare {
		s.change = time.Duration(random(forChangeTime) * float64(w.span))
	}
	if random(forSpell) < spellShare {
		s.down = pick(spells, random(forSpellFault))
		s.downFrom = time.Duration(random(forSpellStart) * float64(w.span))
		s.downTo = s.downFrom + time.Duration(float64(10*time.Minute)*math.Pow(144, random(forSpellLength))) // 10 minutes to a day
	}
	return s
}

// meets returns the fault that a request for robots.txt meets.
func (s *site) meets(now time.Duration) fault {
	if s.down != none && now >= s.downFrom && now < s.downTo {
		return s.down
	}
	return s.fault
}

// serves returns the number of the file that the host serves.
func (s *site) serves(now time.Duration) int {
	if now >= s.change {
		return s.file[1]
	}
	return s.file[0]
}

// steady reports whether nothing about the robots.txt of the host expires within a day,
// or fails.
func (w *world) steady(s site) bool {
	switch s.fault {
	case gone, removed:
		return s.down == none
	case none:
		return !s.lifetime.short() && s.down == none && !w.files[s.file[0]].page && !w.files[s.file[1]].page
	}
	return false
}

// statuses are the statuses of faults that have one.
var statuses = map[fault]int{
	none: 200, gone: 404, removed: 410, denied: 403, restricted: 401, failing: 500, overloaded: 503, busy: 429, looping: 301, broken: 200,
}

// retryAfter is what answers to overload ask for. A pause without a Retry-After has a
// random length, and no two runs would be equal.
var retryAfter = map[fault]time.Duration{overloaded: 2 * time.Minute, busy: 30 * time.Second}

// nameOf returns the name of a host.
func nameOf(host uint32) string { return "h" + strconv.FormatUint(uint64(host), 10) + ".example" }

// addressOf returns the other name of a host, which its redirects lead to. It is an
// address, because the name in a redirect would be resolved.
func addressOf(host uint32) string {
	host += 20 << 24
	return fmt.Sprintf("%d.%d.%d.%d", host>>24, host>>16&255, host>>8&255, host&255)
}

// hostOf returns the host of a name, and whether it is the other name.
func hostOf(name string) (host uint32, other bool) {
	if rest, ok := strings.CutPrefix(name, "h"); ok {
		n, _ := strconv.ParseUint(strings.TrimSuffix(rest, ".example"), 10, 32)
		return uint32(n), false
	}
	a := net.ParseIP(name).To4()
	return (uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])) - 20<<24, true
}

// faultErrors are the errors of the faults without a status.
var faultErrors = map[fault]error{
	nameless: &net.DNSError{Err: "no such host", IsNotFound: true},
	refused:  &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
	insecure: &net.OpError{Op: "remote error", Net: "tcp", Err: syscall.EPROTO},
	silent:   os.ErrDeadlineExceeded,
}

// redirect returns where a request is redirected to, "" if it is not.
func (s *site) redirect(host uint32, path string, other bool) string {
	switch {
	case !other && (s.hops > 0 || s.fault == looping), s.fault == looping:
		return "https://" + addressOf(host) + "/robots.txt"
	case other && s.hops == 2 && path == "/robots.txt":
		return "https://" + addressOf(host) + "/files/robots.txt"
	}
	return ""
}

// robots answers a request for the robots.txt of a host. It returns the fault that the
// request met; a redirect counts as looping.
func (w *world) robots(s *site, host uint32, other bool, req *http.Request, now time.Duration) (*http.Response, fault, error) {
	f := s.meets(now)
	if err := faultErrors[f]; err != nil {
		return nil, f, err
	}
	h := http.Header{}
	if f == none || f == looping || f == broken || f == gone || f == denied {
		if to := s.redirect(host, req.URL.Path, other); to != "" {
			h.Set("Location", to)
			return answer(req, http.StatusMovedPermanently, h, nil), looping, nil
		}
	}
	if d := retryAfter[f]; d > 0 {
		h.Set("Retry-After", strconv.Itoa(int(d.Seconds())))
	}
	if f != none && f != broken {
		return answer(req, statuses[f], h, nil), f, nil
	}
	n := s.serves(now)
	body := w.body(host, n)
	h.Set("Content-Type", "text/plain")
	s.lifetime.set(h)
	if s.tagged {
		h.Set("Etag", fmt.Sprintf(`"%d-%d"`, host, n))
	}
	if f == broken {
		h.Set("Content-Length", strconv.Itoa(len(body)+1))
		body = body[:min(len(body), 1000)] // a body of 500 KiB would be enough
	} else if s.tagged && req.Header.Get("If-None-Match") == h.Get("Etag") {
		return answer(req, http.StatusNotModified, h, nil), f, nil
	}
	return answer(req, http.StatusOK, h, body), f, nil
}

// body returns the robots.txt of a host. Where the file names a sitemap, the host has one
// of its own.
func (w *world) body(host uint32, n int) []byte {
	f := w.files[n]
	if !f.sitemap {
		return f.body
	}
	return fmt.Appendf(f.body[:len(f.body):len(f.body)], "\nSitemap: https://%s/sitemap.xml\n", nameOf(host))
}

// short reports whether the lifetime is declared and less than a day.
func (l lifetime) short() bool {
	return l.expires > 0 || l.control != "" && maxAge[l.control] < day
}

// set adds the fields of the lifetime to a header.
func (l lifetime) set(h http.Header) {
	if l.control != "" {
		h.Set("Cache-Control", l.control)
	}
	if l.expires > 0 {
		h.Set("Expires", time.Now().Add(l.expires).UTC().Format(http.TimeFormat))
	}
	if l.age > 0 {
		h.Set("Age", strconv.Itoa(int(l.age.Seconds())))
	}
}

func answer(req *http.Request, status int, h http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1,
	}
}

// wait lets the latency of a host pass, or the time of a request that gets no answer. It
// reports whether there is an answer.
func (s *site) wait(ctx context.Context, f fault) (answers bool) {
	end, ok := ctx.Deadline()
	if !ok || f != silent && s.latency < time.Until(end) {
		time.Sleep(s.latency)
		return true
	}
	time.Sleep(time.Until(end) - 1) // later, the fetcher would have left the request behind
	return false
}
