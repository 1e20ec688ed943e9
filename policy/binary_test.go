package policy_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rfc9309/polite/policy"
)

// samples returns a record of every kind.
func samples(t testing.TB, p *policy.Profile) map[string]*policy.Record {
	t.Helper()
	learn := func(events ...string) (r *policy.Record) {
		for _, e := range events {
			r = p.Learn(r, attempt(t, e, start))
		}
		return r
	}
	return map[string]*policy.Record{
		"file":      learn("200 rules + ETag: \"a\" + Last-Modified: Fri, 01 May 2020 00:00:00 GMT"),
		"plain":     learn("200 rules"),
		"empty":     learn("200 empty"),
		"redirect":  learn("200 rules from https://cdn.example/r + ETag: \"a\""),
		"gone":      learn("404"),
		"kept":      learn("200 others", "403"),
		"outage":    learn("503"),
		"stale":     learn("200 rules + ETag: \"a\"", "dns"),
		"hold":      learn("500", "429"),
		"redirects": learn("301 after 10 + Location: /x"),
	}
}

// TestDamage damages stored records of every kind: each bit is inverted, the data are
// cut to each shorter length, and bytes are added. Load must refuse all of them.
func TestDamage(t *testing.T) {
	p := policy.RFC9309()
	for name, r := range samples(t, p) {
		t.Run("house/"+name, func(t *testing.T) {
			data := stored(t, r)
			for i := range data {
				for bit := range 8 {
					damaged := []byte(string(data))
					damaged[i] ^= 1 << bit
					refuse(t, p, damaged, fmt.Sprintf("bit %d of byte %d inverted", bit, i))
				}
				refuse(t, p, data[:i], fmt.Sprintf("cut to %d bytes", i))
			}
			refuse(t, p, append([]byte(string(data)), 0), "a byte added")
			refuse(t, p, append([]byte(string(data)), data...), "written twice")
		})
	}
	refuse(t, p, nil, "nothing")
	refuse(t, p, make([]byte, 1<<16), "64 KiB of zeros")
}

func refuse(t *testing.T, p *policy.Profile, data []byte, how string) {
	t.Helper()
	if r, err := p.Load(data); err == nil || r != nil {
		t.Errorf("%s:\ngot  %v, %v\nwant an error and no record", how, r, err)
	}
}

// reseal returns altered data with a valid checksum, as a hostile store might.
func reseal(data []byte) []byte {
	body := data[:len(data)-16]
	sum := sha256.Sum256(body)
	return append([]byte(string(body)), sum[:16]...)
}

// TestForged alters stored records and corrects the checksum. Load must refuse data of
// another version or profile, and never panic.
func TestForged(t *testing.T) {
	p := policy.RFC9309()
	for name, r := range samples(t, p) {
		t.Run("house/"+name, func(t *testing.T) {
			data := stored(t, r)
			for _, version := range []byte{0, 1, 2, 3, 4, 5, 255} {
				other := []byte(string(data))
				other[7] = version
				refuse(t, p, reseal(other), fmt.Sprintf("version %d", version))
				if _, err := p.Load(reseal(other)); !strings.Contains(err.Error(), "version 6") {
					t.Errorf("version %d:\ngot  %v\nwant an error that names version 6", version, err)
				}
			}
			for n := range len(data) - 16 {
				short := reseal(data[:n+16])
				loaded, err := p.Load(short)
				switch {
				case err != nil && n >= 10 && !strings.Contains(err.Error(), "damaged"):
					t.Errorf("cut to %d bytes:\ngot  %v\nwant an error that says damaged", n, err)
				case err == nil && r.File() == nil:
					t.Errorf("cut to %d bytes:\ngot  %v\nwant an error", n, loaded)
				case err == nil:
					stored(t, loaded) // the rules may end early, but the record is complete
				}
				for _, b := range []byte{0, 0x7f, 0x80, 0xff} {
					other := []byte(string(data))
					other[n] = b
					if loaded, err := p.Load(reseal(other)); err == nil {
						loaded.Decide("ExampleBot", private, start)
					}
				}
			}
		})
	}
}

// TestForgedNumbers replaces one number of a stored record. Load must refuse a number
// that MarshalBinary never writes, and accept the least and the largest that it writes.
func TestForgedNumbers(t *testing.T) {
	const (
		learnt, next, status, access          = 10, 18, 26, 30 // the places of the numbers in the data
		fetched, expires, modified, declared  = 32, 40, 48, 56
		first, tried, reached, probed, lasted = 66, 74, 82, 90, 98
		fails, early                          = 106, 107
	)
	p := policy.RFC9309()
	kinds := samples(t, p)
	rec := kinds["stale"] // it has a copy and an outage
	try := func(name string, at, size int, n int64, valid bool) {
		t.Run("4.2/"+name, func(t *testing.T) {
			data := stored(t, rec)
			copy(data[at:at+size], binary.LittleEndian.AppendUint64(nil, uint64(n)))
			if data = reseal(data); !valid {
				refuse(t, p, data, fmt.Sprintf("%d at byte %d", n, at))
			} else if _, err := p.Load(data); err != nil {
				t.Errorf("%d at byte %d:\ngot  %v\nwant a record", n, at, err)
			}
		})
	}
	for name, at := range map[string]int{
		"learnt": learnt, "next": next, "fetched": fetched, "expires": expires, "modified": modified,
		"first": first, "tried": tried, "reached": reached, "probed": probed, "lasted": lasted,
	} {
		try(name+"_0", at, 8, 0, true)
		try(name+"_negative", at, 8, -1, false)
	}
	try("lifetime_undeclared", declared, 8, -1, true)
	try("lifetime_negative", declared, 8, -2, false)
	try("status_0", status, 4, 0, true)
	try("status_negative", status, 4, -1, false)
	try("status_largest", status, 4, 1<<20, true)
	try("status_too_large", status, 4, 1<<20+1, false)
	try("access_of_no_outage", access, 1, int64(policy.Successful), false)
	try("fails_largest", fails, 1, 32, true)
	try("fails_too_many", fails, 1, 33, false)
	try("early_largest", early, 1, 3, true)
	try("early_too_many", early, 1, 4, false)
	rec = kinds["plain"]
	try("access_last", access, 1, int64(policy.Restricted), true)
	try("access_unknown", access, 1, int64(policy.Restricted)+1, false)
	try("access_of_an_outage", access, 1, int64(policy.Unreachable), false)
}

// TestLoadOfAnotherProfile checks that only the profile that stored a record loads it.
func TestLoadOfAnotherProfile(t *testing.T) {
	for _, one := range names {
		data := stored(t, samples(t, profile(t, one))["file"])
		for _, other := range names {
			t.Run("house/"+one+"_by_"+other, func(t *testing.T) {
				r, err := profile(t, other).Load(data)
				if (err == nil) != (one == other) || (r != nil) != (one == other) {
					t.Errorf("a record of %s loaded by %s: got %v", one, other, err)
				}
			})
		}
	}
}

// TestLoadKeepsTheDecision checks that a record decides the same after it was stored
// and loaded, and that Load keeps no reference to its argument.
func TestLoadKeepsTheDecision(t *testing.T) {
	for _, name := range names {
		p := profile(t, name)
		for kind, r := range samples(t, p) {
			data := stored(t, r)
			loaded := reload(t, p, r)
			again, err := p.Load(data)
			if err != nil {
				t.Fatal(err)
			}
			clear(data)
			for _, when := range []string{"0", "1m", "1h", "12h", "23h59m", "24h", "7d", "29d23h", "30d", "31d"} {
				now := start.Add(span(t, when))
				want := decide(t, r, private, now)
				for _, l := range []*policy.Record{loaded, again} {
					if got := decide(t, l, private, now); got != want {
						t.Errorf("%s, %s, after %s:\ngot  %+v\nwant %+v", name, kind, when, got, want)
					}
				}
			}
		}
	}
}

// TestLargeRecord stores and loads a file of the largest size.
func TestLargeRecord(t *testing.T) {
	p := policy.RFC9309()
	body := "User-agent: *\n" + strings.Repeat("Disallow: /private\n", p.Limit/19)
	a := attempt(t, "200", start)
	a.Body, a.Robots = []byte(body)[:p.Limit], "https://"+strings.Repeat("x", 1<<16)+".example/robots.txt"
	a.Cut = true
	r := reload(t, p, p.Learn(nil, a))
	if got := outcome(t, r, start); got != "rules 2.2.2" {
		t.Errorf("got %s; want rules 2.2.2", got)
	}
}
