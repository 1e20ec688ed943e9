package policy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestDetailIsPackedWhole(t *testing.T) {
	for _, row := range []struct {
		name string
		d    detail
	}{
		{"none", detail{}},
		{"all", detail{"served", "origin", "etag", "lastModified", "cause", "clause", 7}},
		{"last_alone", detail{clause: "2.4"}},
		{"outage_alone", detail{down: -1}},
	} {
		t.Run("house/"+row.name, func(t *testing.T) {
			var r Record
			r.describe(row.d)
			if got := r.detail(); got != row.d {
				t.Errorf("got %+v, want %+v", got, row.d)
			}
			if row.d == (detail{}) != (r.more == nil) {
				t.Errorf("detail %+v is kept %v", row.d, r.more != nil)
			}
		})
	}
}

// What follows from a status alone is no record's own.
func TestRefusalsAreHeldInCommon(t *testing.T) {
	p := RFC9309()
	now := time.Unix(1_700_000_000, 0)
	learn := func(robots string, status int) *Record {
		return p.Learn(nil, Attempt{Robots: robots, Status: status, Header: http.Header{}, Sent: now, Received: now})
	}
	for _, status := range []int{400, 403, 404, 410, 451, 499} {
		a, b := learn("https://a.example/robots.txt", status), learn("https://b.example/robots.txt", status)
		if a.more == nil || a.more != b.more || a.detailSize() != 0 {
			t.Errorf("status %d: details %p and %p of %d octets, want one in common that costs nothing", status, a.more, b.more, a.detailSize())
		}
		if got, want := a.detail().cause, strings.TrimSpace(fmt.Sprintf("status %d %s", status, http.StatusText(status))); got != want {
			t.Errorf("status %d: cause %q, want %q", status, got, want)
		}
	}
	if r := learn("https://a.example/robots.txt", 503); r.detailSize() == 0 {
		t.Errorf("status 503: the detail costs nothing, want its outage kept by the record")
	}
}
