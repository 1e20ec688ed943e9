package otel_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"testing/fstest"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	politeotel "github.com/rfc9309/polite/contrib/otel"
	"github.com/rfc9309/polite/fetcher"
)

// A crawl of one page. Here the spans stay in memory; give your provider an exporter.
func Example() {
	site := httptest.NewServer(http.FileServerFS(fstest.MapFS{
		"robots.txt": {Data: []byte("User-agent: *\nDisallow: /private\n")},
	}))
	defer site.Close()

	spans := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	telemetry, err := politeotel.New(tracers, sdkmetric.NewMeterProvider())
	if err != nil {
		log.Fatal(err)
	}
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Trace: telemetry.Trace()})
	if err != nil {
		log.Fatal(err)
	}
	if err := telemetry.Watch(t); err != nil {
		log.Fatal(err)
	}
	ctx, span := tracers.Tracer("crawler").Start(context.Background(), "page")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL+"/private", nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := (&http.Client{Transport: t}).Do(req); err == nil {
		log.Fatal("the page is disallowed")
	}
	span.End()
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
		for _, e := range s.Events {
			fmt.Println(" ", e.Name, e.Attributes[0].Value.AsString(), e.Attributes[1].Value.AsString())
		}
	}
	// Output:
	// GET
	// robots.txt
	// page
	//   polite.decision disallow 2.2.2
}
