package seal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestOpenedAsSealed(t *testing.T) {
	end := time.UnixMilli(1_700_000_000_123)
	for _, row := range []struct{ name, key, value string }{
		{"plain", "https://example.com", "rules"},
		{"empty_value", "https://example.com", ""},
		{"empty_key", "", "rules"},
		{"longest_key", strings.Repeat("\xff", MaxKey), "rules"},
	} {
		t.Run("house/"+row.name, func(t *testing.T) {
			sealed, err := Seal(row.key, []byte(row.value), end)
			if err != nil {
				t.Fatalf("Seal: %v", err)
			}
			value, got, err := Open(row.key, sealed)
			if err != nil || string(value) != row.value || !got.Equal(end) {
				t.Errorf("Open = %q, %v, %v, want %q, %v", value, got, err, row.value, end)
			}
		})
	}
	if _, err := Seal(strings.Repeat("k", MaxKey+1), nil, end); err != ErrKey {
		t.Errorf("a key too long: %v, want %v", err, ErrKey)
	}
}

func TestChangedIsBroken(t *testing.T) {
	const key = "https://example.com"
	sealed, _ := Seal(key, []byte("User-agent: *\nDisallow: /"), time.Now())
	for i := range sealed {
		if _, _, err := Open(key, sealed[:i]); err != ErrBroken {
			t.Errorf("cut to %d octets: %v, want %v", i, err, ErrBroken)
		}
		for bit := range 255 {
			bad := bytes.Clone(sealed)
			bad[i] ^= byte(bit + 1)
			if _, _, err := Open(key, bad); err != ErrBroken {
				t.Errorf("octet %d changed by %#x: %v, want %v", i, bit+1, err, ErrBroken)
			}
		}
	}
	if _, _, err := Open("https://example.org", sealed); err != ErrBroken {
		t.Errorf("opened for another key: %v, want %v", err, ErrBroken)
	}
	if _, _, err := Open(key, append(bytes.Clone(sealed), 0)); err != ErrBroken {
		t.Errorf("one octet more: %v, want %v", err, ErrBroken)
	}
}

func TestPassed(t *testing.T) {
	end := time.UnixMilli(1_700_000_000_123)
	sealed, _ := Seal("k", nil, end)
	for _, row := range []struct {
		name string
		b    []byte
		now  time.Time
		want bool
	}{
		{"before", sealed, end.Add(-time.Millisecond), false},
		{"at_the_end", sealed, end, true},
		{"too_short", sealed[:10], end.Add(-time.Hour), true},
	} {
		if got := Passed(row.b, row.now); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
