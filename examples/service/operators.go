package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/inspect"
)

// operators serves the metrics and the page. See the example prometheus for more metrics.
func operators(t *fetcher.Transport, page *inspect.Page) http.Handler {
	r := prometheus.NewRegistry()
	for verdict, count := range map[string]func(fetcher.Stats) int64{
		"allow":    func(s fetcher.Stats) int64 { return s.Allowed },
		"disallow": func(s fetcher.Stats) int64 { return s.Disallowed },
		"defer":    func(s fetcher.Stats) int64 { return s.Deferred },
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "polite_decisions_total", Help: "Decisions on pages.", ConstLabels: prometheus.Labels{"verdict": verdict},
		}, func() float64 { return float64(count(t.Stats())) }))
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	mux.Handle("/debug/polite", page.Handler(t))
	return mux
}
