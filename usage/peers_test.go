package usage

import (
	"encoding/base32"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// fieldTest is a test of httpwg/structured-field-tests.
type fieldTest struct {
	Name     string
	Raw      []string
	Type     string `json:"header_type"`
	Expected any
	MustFail bool `json:"must_fail"`
	CanFail  bool `json:"can_fail"`
}

// fieldTests returns the tests in the folder POLITE_PEERS, or skips the test.
func fieldTests(t *testing.T) (all []fieldTest) {
	t.Helper()
	folder := os.Getenv("POLITE_PEERS")
	if folder == "" {
		t.Skip("POLITE_PEERS does not name a folder with structured-field-tests")
	}
	names, err := filepath.Glob(filepath.Join(folder, "structured-field-tests", "*.json"))
	if err != nil || len(names) < 10 {
		t.Fatalf("got %d files, %v; want the tests of httpwg/structured-field-tests", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var tests []fieldTest
		if err := json.Unmarshal(data, &tests); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range tests {
			tests[i].Name = filepath.Base(name) + ": " + tests[i].Name
		}
		all = append(all, tests...)
	}
	return all
}

// TestStructuredFields checks that structured fields are parsed as the tests of the HTTP
// working group want it, and that a dictionary that they refuse says nothing in
// Content-Usage.
func TestStructuredFields(t *testing.T) {
	counts := map[string]int{}
	for _, c := range fieldTests(t) {
		counts[c.Type]++
		got, err := parseStructured(c)
		if c.CanFail && err != nil {
			continue
		}
		if (err != nil) != c.MustFail || err == nil && !reflect.DeepEqual(got, c.Expected) {
			t.Errorf("%s: %q\ngot  %v, %v\nwant %v, failure %v", c.Name, c.Raw, got, err, c.Expected, c.MustFail)
		}
		checkStructured(t, c)
	}
	if t.Logf("tests: %v", counts); counts["dictionary"] < 100 || counts["list"] < 100 || counts["item"] < 100 {
		t.Errorf("got %v tests, want more", counts)
	}
}

// parseStructured parses the field of a test into the form of its expectation.
func parseStructured(c fieldTest) (any, error) {
	switch c.Type {
	case "dictionary":
		d, err := httpsfv.UnmarshalDictionary(c.Raw)
		if err != nil {
			return nil, err
		}
		out := []any{}
		for _, name := range d.Names() {
			m, _ := d.Get(name)
			out = append(out, []any{name, member(m)})
		}
		return out, nil
	case "list":
		list, err := httpsfv.UnmarshalList(c.Raw)
		out := []any{}
		for _, m := range list {
			out = append(out, member(m))
		}
		return out, err
	}
	item, err := httpsfv.UnmarshalItem(c.Raw)
	if err != nil {
		return nil, err
	}
	return member(item), nil
}

// member returns a member as the JSON of the tests has it.
func member(m httpsfv.Member) any {
	if list, ok := m.(httpsfv.InnerList); ok {
		out := []any{}
		for _, item := range list.Items {
			out = append(out, member(item))
		}
		return []any{out, parameters(list.Params)}
	}
	item := m.(httpsfv.Item)
	return []any{bare(item.Value), parameters(item.Params)}
}

// parameters returns parameters as the JSON of the tests has them.
func parameters(p *httpsfv.Params) any {
	out := []any{}
	for _, name := range p.Names() {
		v, _ := p.Get(name)
		out = append(out, []any{name, bare(v)})
	}
	return out
}

// bare returns a bare item as the JSON of the tests has it.
func bare(v any) any {
	typed := func(name string, value any) any { return map[string]any{"__type": name, "value": value} }
	switch v := v.(type) {
	case int64:
		return float64(v)
	case httpsfv.Token:
		return typed("token", string(v))
	case []byte:
		return typed("binary", base32.StdEncoding.EncodeToString(v))
	case time.Time:
		return typed("date", float64(v.Unix()))
	case httpsfv.DisplayString:
		return typed("displaystring", string(v))
	}
	return v
}

// checkStructured reads the field of a test as Content-Usage: a dictionary has a
// preference for each of its members, and any other field has none and is skipped.
func checkStructured(t *testing.T, c fieldTest) {
	t.Helper()
	if c.Type != "dictionary" || c.CanFail {
		return
	}
	var want []string
	members, _ := c.Expected.([]any)
	for _, m := range members {
		want = append(want, m.([]any)[0].(string))
	}
	said := OfHeader(http.Header{"Content-Usage": c.Raw}, "")
	var got []string
	for p := range said.All() {
		got = append(got, p.Label)
	}
	if !slices.Equal(got, want) || (len(said.Skipped()) > 0) != c.MustFail {
		t.Errorf("%s: Content-Usage: %q\ngot  labels %q, skipped %v\nwant labels %q, skipped: %v", c.Name, c.Raw, got, said.Skipped(), want, c.MustFail)
	}
}
