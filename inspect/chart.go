package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// A chart is a row of stacked bars, one for each bucket. The drawing has no text, so
// that it can be stretched to any width. The labels are placed around the drawing.
type chart struct {
	Title  string
	Label  string // text for screen readers
	Top    string // the number at the upper edge
	Width  int    // width of the drawing in its own units
	Bars   []bar
	Legend []legend
	Ticks  []string // evenly spaced times
}

// A bar is one bucket. Its title is shown under the pointer.
type bar struct {
	X, Width int
	Title    string
	Parts    []part
}

// A part is one kind of event in a bucket.
type part struct {
	Class       string
	X, Y        float64
	Width, High float64
}

type legend struct {
	Class, Name string
	Total       int64
}

// A kind is one kind of event that is counted.
type kind struct {
	class, name string
	count       func(*counts) int64
}

var verdictKinds = []kind{
	{"allow", "allowed", func(c *counts) int64 { return c.Allowed }},
	{"disallow", "disallowed", func(c *counts) int64 { return c.Disallowed }},
	{"defer", "deferred", func(c *counts) int64 { return c.Deferred }},
}

var retrievalKinds = []kind{
	{"new", "new copy", func(c *counts) int64 { return c.Retrieved }},
	{"renewed", "renewed", func(c *counts) int64 { return c.Renewed }},
	{"unavailable", "unavailable", func(c *counts) int64 { return c.Unavailable }},
	{"unreachable", "unreachable", func(c *counts) int64 { return c.Unreachable }},
}

const (
	chartHeight = 100
	barWidth    = 10
	barGap      = 2
)

// draw stacks the kinds of each bucket, the first at the bottom.
func draw(title string, kinds []kind, series []bucket) chart {
	c := chart{Title: title, Width: barWidth * len(series)}
	total := make([]int64, len(kinds))
	var most int64
	for i := range series {
		var sum int64
		for j, k := range kinds {
			n := k.count(&series[i].counts)
			total[j] += n
			sum += n
		}
		most = max(most, sum)
	}
	top := roundUp(most)
	c.Top = number(top)
	for i := range series {
		c.Bars = append(c.Bars, stack(&series[i], i, kinds, top))
	}
	var labels []string
	for j, k := range kinds {
		c.Legend = append(c.Legend, legend{k.class, k.name, total[j]})
		labels = append(labels, fmt.Sprintf("%d %s", total[j], k.name))
	}
	c.Label = title + ": " + strings.Join(labels, ", ")
	c.Ticks = ticks(series)
	return c
}

// stack returns the bar of one bucket.
func stack(b *bucket, at int, kinds []kind, top int64) bar {
	out := bar{X: at * barWidth, Width: barWidth}
	var labels []string
	y := float64(chartHeight)
	for _, k := range kinds {
		n := k.count(&b.counts)
		if n == 0 {
			continue
		}
		h := float64(n) * chartHeight / float64(top)
		y -= h
		out.Parts = append(out.Parts, part{k.class, float64(out.X) + barGap/2, y, barWidth - barGap, h})
		labels = append(labels, number(n)+" "+k.name)
	}
	out.Title = b.Start.Format("Mon 2 Jan 15:04") + " UTC: " + cmp.Or(strings.Join(labels, ", "), "nothing")
	return out
}

// roundUp returns the smallest of 1, 2, 5, 10, 20, 50 ... that is at least n. It
// returns n if int64 has no such number.
func roundUp(n int64) int64 {
	for unit := int64(1); unit > 0; unit *= 10 {
		for _, top := range []int64{unit, 2 * unit, 5 * unit} {
			if top >= n {
				return top
			}
		}
	}
	return n
}

// ticks returns five times along a series. The last one is now.
func ticks(series []bucket) []string {
	const steps = 4
	layout := "15:04"
	first, last := series[0].Start, series[len(series)-1].Start
	if last.Sub(first) > 48*time.Hour {
		layout = "Mon 2 Jan"
	}
	var out []string
	for i := range steps {
		out = append(out, first.Add(last.Sub(first)*time.Duration(i)/steps).Format(layout))
	}
	return append(out, "now")
}
