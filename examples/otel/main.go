// Otel shows a crawl in OpenTelemetry. Each page has a span with the decision as an
// event. Each retrieval of a robots.txt has a span, and below it a span for each of its
// requests. There are metrics too. Names follow the semantic conventions for HTTP.
//
//	go run ./otel
//
// Copy the file telemetry.go into your crawler. Here the spans and metrics stay in
// memory and are printed. A real crawler gives its providers an exporter.
//
// It leaves out: exporters, and sampling.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example":   {Robots: web.Text("User-agent: *\nDisallow: /cart\n")},
		"moved.example":  {Robots: web.Redirect("http://shop.example/robots.txt")},
		"busy.example":   {Robots: web.Status(503)},
		"broken.example": {Page: web.Status(500)},
	})
	defer local.Close()

	spans, metrics := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics), sdkmetric.WithView(withoutServer))
	telemetry, err := newTelemetry(tracers, meters)
	if err != nil {
		return err
	}
	t, err := fetcher.New(agent, &fetcher.Options{
		Base:   local.Transport(), // leave this out to visit the real web
		Egress: web.AnyAddress,
		Pace:   &pace.Limits{Gap: 50 * time.Millisecond},
		Trace:  telemetry.Trace(),
	})
	if err != nil {
		return err
	}
	if err := telemetry.watch(t); err != nil {
		return err
	}

	ctx, crawl := tracers.Tracer("crawler").Start(context.Background(), "crawl")
	client := &http.Client{Transport: t, Timeout: 2 * time.Minute}
	for _, page := range []string{
		"http://shop.example/page/1", "http://shop.example/cart", "http://moved.example/page/2",
		"http://busy.example/page/3", "http://lost.test/page/4",
		"http://broken.example/page/5", "http://broken.example/page/6", "http://broken.example/page/7",
	} {
		visit(ctx, client, page)
	}
	crawl.End()

	printSpans(out, spans.GetSpans())
	return printMetrics(out, metrics)
}

// visit fetches a page and makes a span for it. A refusal is a result, not an error.
func visit(ctx context.Context, client *http.Client, page string) {
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("crawler").Start(ctx, "page "+page)
	defer span.End()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return
	}
	resp, err := client.Do(req)
	if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
		return
	}
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return
	}
	defer resp.Body.Close()
	n, _ := io.Copy(io.Discard, resp.Body)
	span.AddEvent(fmt.Sprintf("%d bytes", n))
}
