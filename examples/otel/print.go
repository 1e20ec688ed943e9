package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// printSpans prints spans as trees, sorted by their start.
func printSpans(out io.Writer, spans tracetest.SpanStubs) {
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].StartTime.Before(spans[j].StartTime) })
	below := map[trace.SpanID]tracetest.SpanStubs{}
	for _, s := range spans {
		below[s.Parent.SpanID()] = append(below[s.Parent.SpanID()], s)
	}
	var show func(s tracetest.SpanStub, indent string)
	show = func(s tracetest.SpanStub, indent string) {
		failed := ""
		if s.Status.Code == codes.Error {
			failed = " ERROR " + s.Status.Description
		}
		fmt.Fprintf(out, "%s%s %v%s%s\n", indent, s.Name, s.EndTime.Sub(s.StartTime).Round(10*time.Microsecond), words(s.Attributes), failed)
		for _, e := range s.Events {
			fmt.Fprintf(out, "%s  - %s%s\n", indent, e.Name, words(e.Attributes))
		}
		for _, c := range below[s.SpanContext.SpanID()] {
			show(c, indent+"    ")
		}
	}
	for _, root := range below[trace.SpanID{}] {
		show(root, "")
	}
}

// printMetrics prints every point of every metric.
func printMetrics(out io.Writer, reader *sdkmetric.ManualReader) error {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		return err
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			fmt.Fprintf(out, "%s (%s)\n", m.Name, m.Unit)
			for _, line := range points(m.Data) {
				fmt.Fprintln(out, "   ", line)
			}
		}
	}
	return nil
}

func points(data metricdata.Aggregation) []string {
	var lines []string
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			lines = append(lines, fmt.Sprint(p.Value, words(p.Attributes.ToSlice())))
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			lines = append(lines, fmt.Sprint(p.Value, words(p.Attributes.ToSlice())))
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			lines = append(lines, fmt.Sprintf("%d in %.3f s%s", p.Count, p.Sum, words(p.Attributes.ToSlice())))
		}
	}
	sort.Strings(lines)
	return lines
}

func words(about []attribute.KeyValue) string {
	var b strings.Builder
	for _, a := range about {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value.String())
	}
	return b.String()
}
