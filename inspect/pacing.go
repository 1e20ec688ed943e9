package inspect

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rfc9309/polite/pace"
)

// This file shows what the next request of each host waits for.

// pacingView is the page of the hosts with requests in line or in flight, and of those
// that rest.
type pacingView struct {
	Off       bool           `json:"off"`        // the crawler paces nothing
	Reason    string         `json:"reason"`     // the reason that is shown, or everything
	Waiting   int            `json:"waiting"`    // callers in line
	WaitedFor int            `json:"waited_for"` // hosts that have callers in line
	Hosts     map[string]int `json:"hosts"`      // number of hosts by reason
	Matched   int            `json:"matched"`
	Rows      []hostRow      `json:"rows"`
	Chips     []chip         `json:"-"`
}

// A hostRow is one host or scope in the list.
type hostRow struct{ pace.HostStatus }

// pacedRows is how many hosts the page shows.
const pacedRows = 200

// reasons are what a request can wait for.
var reasons = [...]struct {
	reason  pace.Reason
	name    string
	meaning string
}{
	{pace.ReasonBreaker, "breaker", "its requests failed"},
	{pace.ReasonPause, "pause", "it asked for fewer requests"},
	{pace.ReasonQuota, "quota", "it said that no request is left"},
	{pace.ReasonCrawlDelay, "crawl_delay", "its robots.txt asks for a Crawl-delay"},
	{pace.ReasonGap, "gap", "the gap between two requests"},
	{pace.ReasonParallel, "parallel", "the requests in flight must end first"},
	{pace.ReasonFleet, "fleet", "other processes of the fleet are first"},
	{pace.ReasonScope, "scope", "a scope that it shares with others has no room"},
	{pace.ReasonNone, "free", "the next request may start now"},
}

// Why returns the name of the reason.
func (r hostRow) Why() string { return cmp.Or(string(r.Reason), "free") }

// IsHost reports whether the row is an authority and not the Key of another scope.
func (r hostRow) IsHost() bool { return strings.Contains(r.Authority, "://") }

// Line is the number of callers in line, guests included.
func (r hostRow) Line() int { return r.Waiting + r.Guests }

// Turn is when the next request can start, zero if nobody knows.
func (r hostRow) Turn() time.Time {
	if r.Reason == pace.ReasonParallel {
		return time.Time{}
	}
	return r.Next
}

// Meaning says in words what the next request waits for.
func (r hostRow) Meaning() string {
	if r.Scope != "" {
		return "the scope " + text(r.Scope)
	}
	for _, known := range reasons {
		if known.reason == r.Reason && r.Trouble == "" {
			return known.meaning
		}
	}
	return text(r.Trouble)
}

// byWait orders the hosts with callers in line by the arrival of the first, and then the
// others by their next turn.
func byWait(a, b hostRow) int {
	return cmp.Or(cmp.Compare(sortKey(a.Since), sortKey(b.Since)), a.Next.Compare(b.Next), strings.Compare(a.Authority, b.Authority))
}

// pacing returns the page of the hosts, with all reasons or with one. It looks at all hosts
// and shows the first of them.
func (k *handler) pacing(ctx context.Context, q url.Values) reply {
	if err := k.acquireWalk(ctx); err != nil {
		return failed(http.StatusServiceUnavailable, err.Error())
	}
	defer k.releaseWalk()
	v := pacingView{Off: k.t.Stats().Pace.Off, Reason: cmp.Or(q.Get("reason"), everything), Hosts: map[string]int{}}
	longest := shortlist[hostRow]{most: pacedRows, compare: byWait}
	for s := range k.t.Hosts() {
		r := hostRow{s}
		v.Hosts[everything]++
		v.Hosts[r.Why()]++
		v.Waiting += s.Waiting
		if s.Waiting > 0 {
			v.WaitedFor++
		}
		if v.Reason == everything || v.Reason == r.Why() {
			longest.add(r)
		}
	}
	v.Matched, v.Rows = v.Hosts[v.Reason], append([]hostRow{}, longest.take()...)
	if !v.controls() {
		return failed(http.StatusBadRequest, "There is no such reason.")
	}
	return reply{view: "pacing", title: "Pacing", body: v}
}

// controls adds the links that filter the list, and reports whether the reason that is
// shown exists. Reasons without any host are left out.
func (v *pacingView) controls() (known bool) {
	names := []string{everything}
	for _, r := range reasons {
		names = append(names, r.name)
	}
	for _, name := range names {
		c := chip{name, "?" + url.Values{"view": {"pacing"}, "reason": {name}}.Encode(), v.Hosts[name], name == v.Reason}
		known = known || c.Chosen
		if c.Count > 0 || c.Chosen || name == everything {
			v.Chips = append(v.Chips, c)
		}
	}
	return known
}

// paceOf returns what requests to an authority wait for, or nil if the next may start now and none
// is in flight.
func (k *handler) paceOf(authority string) *hostRow {
	if s, listed := k.t.Host(authority); listed {
		return &hostRow{s}
	}
	return nil
}
