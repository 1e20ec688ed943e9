package main

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
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/semconv/v1.40.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// withoutServer removes the server's name from the metrics. A crawler visits millions of
// servers, and each would be a time series. The spans keep the name.
var withoutServer = sdkmetric.NewView(
	sdkmetric.Instrument{Name: "http.client.request.duration"},
	sdkmetric.Stream{AttributeFilter: attribute.NewDenyKeysFilter(semconv.ServerAddressKey, semconv.ServerPortKey)},
)

// telemetry turns the events of a Transport into spans and metrics. Attributes have the
// names of the semantic conventions for HTTP, or names that begin with "polite".
type telemetry struct {
	meter      metric.Meter
	tracer     trace.Tracer
	requests   httpconv.ClientRequestDuration // http.client.request.duration for requests for robots.txt
	retrievals metric.Int64Counter
	decisions  metric.Int64Counter
	waits      metric.Float64Histogram
	store      metric.Int64Counter

	mu   sync.Mutex
	hops map[string][]fetcher.Try // requests of the retrievals in progress, by the URL of robots.txt
}

func newTelemetry(tracers trace.TracerProvider, meters metric.MeterProvider) (*telemetry, error) {
	const scope = "github.com/rfc9309/polite/fetcher"
	m := meters.Meter(scope)
	t := &telemetry{meter: m, tracer: tracers.Tracer(scope), hops: map[string][]fetcher.Try{}}
	var errs [5]error
	t.requests, errs[0] = httpconv.NewClientRequestDuration(m)
	t.retrievals, errs[1] = m.Int64Counter("polite.robots.retrievals", metric.WithUnit("{retrieval}"),
		metric.WithDescription("Retrievals of robots.txt, by access result."))
	t.decisions, errs[2] = m.Int64Counter("polite.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions on pages."))
	t.waits, errs[3] = m.Float64Histogram("polite.wait.duration", metric.WithUnit("s"),
		metric.WithDescription("Waits for a turn."))
	t.store, errs[4] = m.Int64Counter("polite.store.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Calls of the store that failed."))
	return t, errors.Join(errs[:]...)
}

// Trace returns the hooks.
func (t *telemetry) Trace() *fetcher.Trace {
	return &fetcher.Trace{Decided: t.decided, Try: t.requested, Fetched: t.fetched, Waited: t.waited, Store: t.stored}
}

// decided adds the decision to the span of the page.
func (t *telemetry) decided(ctx context.Context, d policy.Decision) {
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

// requested measures a request, and keeps it until its retrieval ends and has a span.
func (t *telemetry) requested(h fetcher.Try) {
	host, port, about := describe(h)
	t.mu.Lock()
	t.hops[h.Robots] = append(t.hops[h.Robots], h)
	t.mu.Unlock()
	t.requests.Record(context.Background(), h.Took.Seconds(), httpconv.RequestMethodGet, host, port, about...)
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

// fetched makes the span of a retrieval, and the spans of its requests below it. The
// span has no parent, because several callers may wait for one retrieval.
func (t *telemetry) fetched(a policy.Attempt, r *policy.Record) {
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
	t.retrievals.Add(ctx, 1, metric.WithAttributes(access))
}

// request makes the span of one request.
func (t *telemetry) request(ctx context.Context, h fetcher.Try) {
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

func (t *telemetry) waited(_ string, wait time.Duration, reason string) {
	t.waits.Record(context.Background(), wait.Seconds(), metric.WithAttributes(attribute.String("polite.wait.reason", reason)))
}

func (t *telemetry) stored(op, _ string, _ error) {
	t.store.Add(context.Background(), 1, metric.WithAttributes(attribute.String("polite.store.operation", op)))
}

// watch counts, at each export, the hosts that keep requests waiting. The reason is one
// attribute, however many hosts there are.
func (t *telemetry) watch(crawler *fetcher.Transport) error {
	hosts, err := t.meter.Int64ObservableGauge("polite.paced_hosts", metric.WithUnit("{host}"),
		metric.WithDescription("Hosts and scopes with requests in line or in flight, or at rest, by what the next request waits for."))
	if err != nil {
		return err
	}
	waiting, err := t.meter.Int64ObservableGauge("polite.waiting", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that wait for a turn, by what the first of their host waits for."))
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
