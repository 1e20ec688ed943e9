// Package prometheus exports a crawler to Prometheus: the numbers of decisions, of fetches of
// robots.txt and of waits, the hosts that keep requests waiting, and the memory in use.
//
//	m, err := politeprom.New(registry)
//	t, err := fetcher.New(agent, &fetcher.Options{Trace: m.Trace()})
//	err = m.Watch(t)
//
// Import it under a name such as politeprom, because the client library has the same name.
// The operations guide lists the metrics and alerts for them. No label names a host: a crawler
// visits millions of hosts, and each would be a time series.
package prometheus

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// Metrics are the metrics of one crawler. Several goroutines may use them.
type Metrics struct {
	registerer prometheus.Registerer
	decisions  *prometheus.CounterVec
	fetches    *prometheus.CounterVec
	requests   *prometheus.HistogramVec
	waits      *prometheus.HistogramVec
	store      *prometheus.CounterVec
	delays     prometheus.Counter
	alone      prometheus.Gauge
}

// New registers the metrics that Trace feeds. It fails if r has metrics of these names: give
// each of several crawlers a [prometheus.WrapRegistererWith] with a label of its own.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		registerer: r,
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "polite_decisions_total", Help: "Decisions on pages, by verdict and clause of RFC 9309."}, []string{"verdict", "clause"}),
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "polite_robots_fetches_total", Help: "Fetches of robots.txt, by result."}, []string{"result"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "polite_robots_request_duration_seconds", Help: "Requests for robots.txt. Each redirect and each second try counts as one.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}, []string{"status"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "polite_wait_seconds", Help: "Waits for a turn, by reason.",
			Buckets: []float64{.01, .1, 1, 10, 60, 600}}, []string{"reason"}),
		store: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "polite_store_failures_total", Help: "Calls of the store that failed."}, []string{"op"}),
		delays: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "polite_crawl_delays_cut_total", Help: "Sites with a Crawl-delay that is longer than the delay that is obeyed."}),
		alone: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "polite_fleet_pace_lost", Help: "1 while each process of the fleet keeps a pace of its own."}),
	}
	if err := register(r, m.decisions, m.fetches, m.requests, m.waits, m.store, m.delays, m.alone); err != nil {
		return nil, err
	}
	return m, nil
}

// register registers all collectors or none.
func register(r prometheus.Registerer, all ...prometheus.Collector) error {
	for i, c := range all {
		if err := r.Register(c); err != nil {
			for _, done := range all[:i] {
				r.Unregister(done)
			}
			return err
		}
	}
	return nil
}

// Trace returns hooks that count, for [fetcher.Options.Trace]. They do not block.
func (m *Metrics) Trace() *fetcher.Trace {
	return &fetcher.Trace{
		Decided: func(_ context.Context, d policy.Decision) {
			m.decisions.WithLabelValues(d.Verdict.String(), d.Clause).Inc()
		},
		Fetched: func(a policy.Attempt, _ *policy.Record) {
			m.fetches.WithLabelValues(result(a.Status, a.Err)).Inc()
		},
		Try: func(h fetcher.Try) {
			m.requests.WithLabelValues(result(h.Status, h.Err)).Observe(h.Took.Seconds())
		},
		Waited: func(_ string, wait time.Duration, reason string) {
			m.waits.WithLabelValues(reason).Observe(wait.Seconds())
		},
		Store: func(op, _ string, _ error) { m.store.WithLabelValues(op).Inc() },
		Delay: func(string, time.Duration, time.Duration) { m.delays.Inc() },
		Fleet: func(err error) {
			m.alone.Set(0)
			if err != nil {
				m.alone.Set(1)
			}
		},
	}
}

// result returns a status or the class of a failure. Statuses without a name share one
// value, so that a server cannot create any number of label values.
func result(status int, err error) string {
	var f *policy.Failure
	switch {
	case errors.As(err, &f):
		return f.Class.String()
	case err != nil:
		return policy.Other.String()
	case status >= 100 && status <= 599:
		return strconv.Itoa(status)
	}
	return "other_status"
}

// Watch registers metrics that are read from t at each scrape: its memory, its requests in
// flight, and the hosts that keep requests waiting. Call it once.
func (m *Metrics) Watch(t *fetcher.Transport) error {
	gauge := func(name, help string, value func(fetcher.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(t.Stats()) })
	}
	return register(m.registerer,
		gauge("polite_authorities", "Authorities whose record is in memory.",
			func(s fetcher.Stats) float64 { return float64(s.Authorities) }),
		gauge("polite_memory_bytes", "Bytes of memory that the authorities take, at most Options.MaxBytes.",
			func(s fetcher.Stats) float64 { return float64(s.Bytes) }),
		gauge("polite_in_flight", "Requests in flight.",
			func(s fetcher.Stats) float64 { return float64(s.Pace.InFlight) }),
		hosts{t})
}

// hosts counts, at each scrape, the hosts that keep requests waiting. Each reason is one
// label value, however many hosts there are.
type hosts struct{ t *fetcher.Transport }

var (
	hostsDesc = prometheus.NewDesc("polite_paced_hosts",
		"Hosts and scopes with queued requests or requests in flight, or at rest, by what the next request waits for.", []string{"reason"}, nil)
	waitingDesc = prometheus.NewDesc("polite_waiting", "Queued requests, by what the head of each host's queue waits for.", []string{"reason"}, nil)
	longestDesc = prometheus.NewDesc("polite_longest_wait_seconds", "Age of the oldest waiting request.", nil, nil)
)

func (hosts) Describe(to chan<- *prometheus.Desc) {
	to <- hostsDesc
	to <- waitingDesc
	to <- longestDesc
}

func (h hosts) Collect(to chan<- prometheus.Metric) {
	now, longest := time.Now(), time.Duration(0)
	count, waiting := map[pace.Reason]int{}, map[pace.Reason]int{}
	for _, r := range reasons {
		count[r] = 0
	}
	for s := range h.t.Hosts() {
		count[s.Reason]++
		waiting[s.Reason] += s.Waiting
		if s.Waiting > 0 {
			longest = max(longest, now.Sub(s.Since))
		}
	}
	for r := range count {
		label := cmp.Or(string(r), "free")
		to <- prometheus.MustNewConstMetric(hostsDesc, prometheus.GaugeValue, float64(count[r]), label)
		to <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting[r]), label)
	}
	to <- prometheus.MustNewConstMetric(longestDesc, prometheus.GaugeValue, longest.Seconds())
}

// reasons are all that a request can wait for. A count of zero is exported, too.
var reasons = [...]pace.Reason{pace.ReasonNone, pace.ReasonGap, pace.ReasonCrawlDelay, pace.ReasonPause,
	pace.ReasonBreaker, pace.ReasonQuota, pace.ReasonParallel, pace.ReasonScope, pace.ReasonFleet}
