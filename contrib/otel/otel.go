// Package otel shows a crawler in OpenTelemetry.
//
//	telemetry, err := politeotel.New(otel.GetTracerProvider(), otel.GetMeterProvider())
//	t, err := fetcher.New(agent, &fetcher.Options{Trace: telemetry.Trace()})
//	err = telemetry.Watch(t)
//
// Import it under a name such as politeotel, because the API of OpenTelemetry has the same name.
//
// # Spans
//
// The decision on a page is an event of the span in the context of its request, if there is
// one. Each fetch of a robots.txt has a span, and below it a span for each of its requests.
// These spans have no parent, because several callers may wait for one fetch.
//
// # Metrics
//
// Requests for robots.txt are measured by http.client.request.duration, without the attributes
// server.address and server.port: a crawler visits millions of servers, and each would be a
// time series. The spans have both. All other names begin with "polite".
package otel

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/semconv/v1.40.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// Telemetry turns the events of a Transport into spans and metrics. Several goroutines may
// use it.
type Telemetry struct {
	meter     metric.Meter
	tracer    trace.Tracer
	requests  httpconv.ClientRequestDuration // http.client.request.duration for requests for robots.txt
	fetches   metric.Int64Counter
	decisions metric.Int64Counter
	waits     metric.Float64Histogram
	store     metric.Int64Counter

	mu   sync.Mutex
	hops map[string][]fetcher.Try // requests of the fetches in progress, by the URL of robots.txt
}

// New returns the telemetry of one crawler. It fails if a meter refuses an instrument.
func New(tracers trace.TracerProvider, meters metric.MeterProvider) (*Telemetry, error) {
	const scope = "github.com/rfc9309/polite/fetcher"
	m := meters.Meter(scope)
	t := &Telemetry{meter: m, tracer: tracers.Tracer(scope), hops: map[string][]fetcher.Try{}}
	var errs [5]error
	t.requests, errs[0] = httpconv.NewClientRequestDuration(m)
	t.fetches, errs[1] = m.Int64Counter("polite.robots.fetches", metric.WithUnit("{fetch}"),
		metric.WithDescription("Fetches of robots.txt, by access result."))
	t.decisions, errs[2] = m.Int64Counter("polite.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions on pages."))
	t.waits, errs[3] = m.Float64Histogram("polite.wait.duration", metric.WithUnit("s"),
		metric.WithDescription("Waits for a turn."))
	t.store, errs[4] = m.Int64Counter("polite.store.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Calls of the store that failed."))
	return t, errors.Join(errs[:]...)
}

// Trace returns hooks that record, for [fetcher.Options.Trace]. They do not block.
func (t *Telemetry) Trace() *fetcher.Trace {
	return &fetcher.Trace{Decided: t.decided, Try: t.requested, Fetched: t.fetched, Waited: t.waited, Store: t.stored}
}

// decided adds the decision to the span of the page.
func (t *Telemetry) decided(ctx context.Context, d policy.Decision) {
	verdict := attribute.String("polite.verdict", d.Verdict.String())
	t.decisions.Add(ctx, 1, metric.WithAttributes(verdict, attribute.Bool("polite.stale", d.Stale)))
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	about := []attribute.KeyValue{verdict, attribute.String("polite.clause", d.Clause)}
	if rule := d.Rule(); rule != "" {
		about = append(about, attribute.String("polite.rule", rule))
	}
	if d.Cause != "" {
		about = append(about, attribute.String("polite.cause", d.Cause))
	}
	if !d.RetryAt.IsZero() {
		about = append(about, attribute.String("polite.retry_at", d.RetryAt.UTC().Format(time.RFC3339)))
	}
	span.AddEvent("polite.decision", trace.WithAttributes(about...))
}

// requested measures a request, and keeps it until its fetch ends and has a span.
func (t *Telemetry) requested(h fetcher.Try) {
	_, _, about := describe(h)
	t.mu.Lock()
	t.hops[h.Robots] = append(t.hops[h.Robots], h)
	t.mu.Unlock()
	about = append(about, semconv.HTTPRequestMethodGet)
	t.requests.RecordSet(context.Background(), h.Took.Seconds(), attribute.NewSet(about...))
}

// describe returns the host and port of a request, and its result as attributes.
func describe(h fetcher.Try) (host string, port int, about []attribute.KeyValue) {
	if u, err := url.Parse(h.URL); err == nil {
		about = append(about, semconv.URLScheme(u.Scheme))
		host, port = u.Hostname(), map[string]int{"http": 80, "https": 443}[u.Scheme]
		if n, err := strconv.Atoi(u.Port()); err == nil {
			port = n
		}
	}
	if h.Status != 0 {
		about = append(about, semconv.HTTPResponseStatusCode(h.Status))
	}
	if kind := errorType(h); kind != "" {
		about = append(about, semconv.ErrorTypeKey.String(kind))
	}
	return host, port, about
}

// errorType returns the status of a failed answer, the class of a failure, or "" if the
// request succeeded. A site without a robots.txt is not a failure.
func errorType(h fetcher.Try) string {
	var f *policy.Failure
	switch {
	case errors.As(h.Err, &f):
		return f.Class.String()
	case h.Status >= 500 || h.Status == 429:
		return strconv.Itoa(h.Status)
	}
	return ""
}

// fetched makes the span of a fetch, and the spans of its requests below it. The
// span has no parent, because several callers may wait for one fetch.
func (t *Telemetry) fetched(a policy.Attempt, r *policy.Record) {
	t.mu.Lock()
	hops := t.hops[a.Robots]
	delete(t.hops, a.Robots)
	t.mu.Unlock()

	access := attribute.String("polite.access", r.Decide("", &url.URL{}, a.Received).Access.String())
	ctx, span := t.tracer.Start(context.Background(), "robots.txt", trace.WithNewRoot(), trace.WithTimestamp(a.Sent),
		trace.WithAttributes(semconv.URLFull(a.Robots), access, attribute.Int("polite.redirects", len(a.Hops)),
			attribute.String("polite.next_try", r.NextTry().UTC().Format(time.RFC3339))))
	for _, h := range hops {
		t.request(ctx, h)
	}
	if a.Err != nil {
		span.SetStatus(codes.Error, plain(a.Err))
	}
	span.End(trace.WithTimestamp(a.Received))
	t.fetches.Add(ctx, 1, metric.WithAttributes(access))
}

// request makes the span of one request.
func (t *Telemetry) request(ctx context.Context, h fetcher.Try) {
	host, port, about := describe(h)
	about = append(about, semconv.HTTPRequestMethodGet, semconv.URLFull(h.URL), semconv.ServerAddress(host), semconv.ServerPort(port))
	if h.Number > 1 {
		about = append(about, semconv.HTTPRequestResendCount(h.Number-1))
	}
	_, span := t.tracer.Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(h.Start), trace.WithAttributes(about...))
	if h.Err != nil {
		span.SetStatus(codes.Error, plain(h.Err))
	} else if errorType(h) != "" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(h.Start.Add(h.Took)))
}

// plain returns the text of an error as an attribute. The text may come from a server.
// *policy.Failure bounds its length, and exporters want valid UTF-8.
func plain(err error) string { return strings.ToValidUTF8(err.Error(), "\uFFFD") }

func (t *Telemetry) waited(_ string, wait time.Duration, reason string) {
	t.waits.Record(context.Background(), wait.Seconds(), metric.WithAttributes(attribute.String("polite.wait.reason", reason)))
}

func (t *Telemetry) stored(op, _ string, _ error) {
	t.store.Add(context.Background(), 1, metric.WithAttributes(attribute.String("polite.store.operation", op)))
}

// Watch counts, at each export, the hosts that keep requests waiting. The reason is one
// attribute, however many hosts there are. Call it once.
func (t *Telemetry) Watch(crawler *fetcher.Transport) error {
	hosts, err := t.meter.Int64ObservableGauge("polite.paced_hosts", metric.WithUnit("{host}"),
		metric.WithDescription("Hosts and scopes with queued requests or requests in flight, or at rest, by what the next request waits for."))
	if err != nil {
		return err
	}
	waiting, err := t.meter.Int64ObservableGauge("polite.waiting", metric.WithUnit("{request}"),
		metric.WithDescription("Queued requests, by what the head of each host's queue waits for."))
	if err != nil {
		return err
	}
	_, err = t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		count, line := map[pace.Reason]int64{}, map[pace.Reason]int64{}
		for s := range crawler.Hosts() {
			count[s.Reason]++
			line[s.Reason] += int64(s.Waiting)
		}
		for reason := range count {
			why := metric.WithAttributes(attribute.String("polite.wait.reason", cmp.Or(string(reason), "free")))
			o.ObserveInt64(hosts, count[reason], why)
			o.ObserveInt64(waiting, line[reason], why)
		}
		return nil
	}, hosts, waiting)
	return err
}
