package otel

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
)

// TestCrawl checks the spans and the metrics of a crawl of three sites.
func TestCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://shop.example").Robots(httptest.Text("User-agent: *\nDisallow: /cart\n"))
		web.Site("http://moved.example").Robots(httptest.Redirect(302, "http://shop.example/robots.txt"))
		web.Site("http://busy.example").Robots(httptest.Status(503))
		spans, metrics := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
		tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		telemetry, err := New(tracers, sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)))
		if err != nil {
			t.Fatal(err)
		}
		crawler, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: web.Transport(), Trace: telemetry.Trace()})
		if err != nil {
			t.Fatal(err)
		}
		if err := telemetry.Watch(crawler); err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{"http://shop.example/cart", "http://moved.example/page", "http://busy.example/"} {
			ctx, span := tracers.Tracer("crawler").Start(t.Context(), "page "+page)
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
			if resp, err := (&http.Client{Transport: crawler}).Do(req); err == nil {
				resp.Body.Close()
			}
			span.End()
		}
		check(t, printSpans(spans.GetSpans()), []string{
			"page http://shop.example/cart\n  - polite.decision polite.verdict=disallow polite.clause=2.2.2 polite.rule=line 2 \"Disallow: /cart\" in group \"*\"\n",
			"page http://busy.example/\n  - polite.decision polite.verdict=defer polite.clause=2.3.1.4 polite.cause=status 503 Service Unavailable polite.retry_at=",
			"robots.txt url.full=http://moved.example/robots.txt polite.access=successful polite.redirects=1 polite.next_try=",
			"    GET url.scheme=http http.response.status_code=302 http.request.method=GET url.full=http://moved.example/robots.txt server.address=moved.example server.port=80\n" +
				"    GET url.scheme=http http.response.status_code=200 http.request.method=GET url.full=http://shop.example/robots.txt ",
			" http.response.status_code=503 error.type=503 http.request.method=GET url.full=http://busy.example/robots.txt server.address=busy.example server.port=80\n",
		})
		text := printMetrics(t, metrics)
		check(t, text, []string{
			"polite.decisions {decision} 1 polite.stale=false polite.verdict=disallow\n",
			"polite.robots.fetches {fetch} 1 polite.access=unreachable\n",
			"http.client.request.duration s 1 error.type=503 http.request.method=GET http.response.status_code=503 url.scheme=http\n",
			"polite.paced_hosts {host} 1 polite.wait.reason=pause\n",
		})
		if strings.Contains(text, ".example") {
			t.Errorf("the metrics name a host:\n%s", text)
		}
	})
}

func check(t *testing.T, text string, lines []string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant\n%s", text, want)
		}
	}
}

// printSpans returns spans as trees, in order of their start.
func printSpans(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	below := map[trace.SpanID]tracetest.SpanStubs{}
	for _, s := range spans {
		below[s.Parent.SpanID()] = append(below[s.Parent.SpanID()], s)
	}
	var b strings.Builder
	var show func(s tracetest.SpanStub, indent string)
	show = func(s tracetest.SpanStub, indent string) {
		fmt.Fprintf(&b, "%s%s%s\n", indent, s.Name, words(s.Attributes))
		for _, e := range s.Events {
			fmt.Fprintf(&b, "%s  - %s%s\n", indent, e.Name, words(e.Attributes))
		}
		for _, c := range below[s.SpanContext.SpanID()] {
			show(c, indent+"    ")
		}
	}
	for _, root := range below[trace.SpanID{}] {
		show(root, "")
	}
	return b.String()
}

// printMetrics returns a line for each point of each metric. Of a histogram it has the count.
func printMetrics(t *testing.T, reader *sdkmetric.ManualReader) string {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			line := func(n any, about attribute.Set) {
				fmt.Fprintf(&b, "%s %s %v%s\n", m.Name, m.Unit, n, words(about.ToSlice()))
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					line(p.Value, p.Attributes)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					line(p.Value, p.Attributes)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					line(p.Count, p.Attributes)
				}
			}
		}
	}
	return b.String()
}

func words(about []attribute.KeyValue) string {
	var b strings.Builder
	for _, a := range about {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value.String())
	}
	return b.String()
}
