//go:build !wasm

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/rfc9309/polite/policy"
)

// sound is an undamaged file with every kind of page: a tree of two levels, values of several pages, free pages, and
// two generations of meta pages.
type sound struct {
	data   []byte
	values map[string]string   // last value of each key
	put    map[string][]string // all values that were put for each key
}

func newSound(t *testing.T) sound {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.db")
	s := opened(t, path)
	f := sound{values: map[string]string{}, put: map[string][]string{}}
	add := func(i, size int) {
		key := fmt.Sprintf("https://host%d.example", i)
		f.values[key] = stored(t, key, size)
		f.put[key] = append(f.put[key], f.values[key])
		put(t, s, key, f.values[key], time.Hour)
	}
	for i := range 60 {
		add(i, 1+i%7)
	}
	add(60, 400)
	flushing{s}.flushNow()
	for i := range 10 {
		add(i*3, 9)
		key := fmt.Sprintf("https://host%d.example", i*3+1)
		delete(f.values, key)
		s.Delete(t.Context(), key)
	}
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f.data = data
	return f
}

var learnt = time.Unix(1_700_000_000, 0)

// stored returns the record of a robots.txt with a number of lines, as the fetcher stores it.
func stored(t *testing.T, key string, lines int) string {
	t.Helper()
	a := policy.Attempt{
		Robots: key + "/robots.txt", Served: key + "/robots.txt", Status: 200, Sent: learnt, Received: learnt,
		Body: []byte("User-agent: *\n" + strings.Repeat("Disallow: /of/"+key+"\n", lines)),
	}
	data, err := policy.RFC9309().Learn(nil, a).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// believed reports whether the fetcher accepts a value as the record of key.
func believed(key string, value []byte) bool {
	r, err := policy.RFC9309().Load(value)
	return err == nil && r.Robots() == key+"/robots.txt"
}

// try opens a file with these bytes and calls every method. Nothing may crash or hang, and the fetcher must not
// accept a value that was not put under the key. try returns whether the file opened, and how many of its values are
// still there.
func (f sound) try(t *testing.T, data []byte, what string) (opens bool, found int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	s, err := openWith(path, nil, bbolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		if !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "runtime error") {
			t.Errorf("%s: Open: %v, want %v and what was found", what, err, ErrDamaged)
		}
		return false, 0
	}
	for key, want := range f.values {
		got, err := s.Get(t.Context(), key)
		switch {
		case err == nil && string(got) == want:
			found++
		case err == nil && believed(key, got) && !slices.Contains(f.put[key], string(got)):
			t.Errorf("%s: Get(%s) = %.60q, want %.60q or nothing", what, key, got, want)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged):
			t.Errorf("%s: Get(%s): %v", what, key, err)
		}
	}
	f.change(t, s, what)
	if err := s.Close(); err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("%s: Close: %v", what, err)
	}
	return true, found
}

// change writes to the store, so that the database rewrites its tree and its list of free pages.
func (f sound) change(t *testing.T, s *Store, what string) {
	t.Helper()
	n := 0
	for key := range f.values {
		if n++; n%4 == 0 {
			s.Delete(t.Context(), key)
		} else {
			s.Put(t.Context(), key, []byte("new of "+key), time.Hour)
		}
	}
	flushing{s}.flushNow()
	if s.broken != nil || s.failed != nil {
		t.Errorf("%s: passed the check and broke: %v, %v", what, s.broken, s.failed)
	}
	for key := range f.values {
		got, err := s.Get(t.Context(), key)
		if err == nil && string(got) != "new of "+key {
			t.Errorf("%s: after Put or Delete, Get(%s) = %.60q", what, key, got)
		}
	}
}

func TestWholeFileIsAccepted(t *testing.T) {
	f := newSound(t)
	if opens, found := f.try(t, f.data, "untouched"); !opens || found != len(f.values) {
		t.Errorf("untouched file: opens %v, %d values, want true, %d", opens, found, len(f.values))
	}
}

// used returns the numbers of the pages in use, without overflow pages.
func (f sound) used(t *testing.T) (pages []int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "used.db")
	if err := os.WriteFile(path, f.data, 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bbolt.Tx) error {
		for id := 0; ; {
			p, err := tx.Page(id)
			if p == nil {
				return err
			}
			if p.Type != "free" {
				pages = append(pages, id)
				id += p.OverflowCount
			}
			id++
		}
	})
	return pages
}

// selected reports whether a test changes byte i of the file: each byte of the headers and first elements, every
// thirteenth byte of the keys and further elements, and a few of the rest.
func selected(i int) bool {
	switch i %= pageSize; {
	case testing.Short() && i%7 != 0:
		return false
	case i < 100:
		return true
	case i < 1100:
		return i%13 == 0
	}
	return i%61 == 0
}

func TestChangedByte(t *testing.T) {
	f := newSound(t)
	rnd := rand.New(rand.NewPCG(9, 9))
	var opens, refused int
	for _, page := range f.used(t) {
		for i := page * pageSize; i < (page+1)*pageSize; i++ {
			if !selected(i) {
				continue
			}
			bad := bytes.Clone(f.data)
			bad[i] ^= [...]byte{0x01, 0x80, 0xff, 0x03, byte(1 + rnd.IntN(255))}[rnd.IntN(5)]
			what := fmt.Sprintf("page %d byte %d is %#x for %#x", page, i%pageSize, bad[i], f.data[i])
			if ok, _ := f.try(t, bad, what); ok {
				opens++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d bytes, %d values: %d changes opened, %d refused", len(f.data), len(f.values), opens, refused)
	if opens == 0 || refused == 0 {
		t.Errorf("changes opened %d times and were refused %d times, want some of both", opens, refused)
	}
}

func TestCutShort(t *testing.T) {
	f := newSound(t)
	step := 509
	if testing.Short() {
		step = 4001
	}
	for n := 1; n < len(f.data); n += step {
		f.try(t, f.data[:n], fmt.Sprintf("cut to %d bytes", n))
	}
	// A longer file is valid: the database may have reserved space.
	if ok, found := f.try(t, append(bytes.Clone(f.data), make([]byte, 5000)...), "longer"); !ok || found != len(f.values) {
		t.Errorf("longer file: opens %v, %d values, want true, %d", ok, found, len(f.values))
	}
}

// TestLostPage replaces single pages. A disk that loses its power may have written some pages and not others.
func TestLostPage(t *testing.T) {
	f := newSound(t)
	rnd := rand.New(rand.NewPCG(3, 3))
	noise := make([]byte, pageSize)
	for i := range noise {
		noise[i] = byte(rnd.IntN(256))
	}
	pages := f.used(t)
	for i, id := range pages {
		other := pages[(i+1)%len(pages)] * pageSize
		for what, content := range map[string][]byte{
			"zeros": make([]byte, pageSize), "noise": noise, "another page": f.data[other : other+pageSize],
		} {
			bad := bytes.Clone(f.data)
			copy(bad[id*pageSize:], content)
			f.try(t, bad, fmt.Sprintf("page %d is %s", id, what))
			// Keep the correct header, so that the check reads the rest of the page.
			copy(bad[id*pageSize:], f.data[id*pageSize:][:headerSize])
			f.try(t, bad, fmt.Sprintf("page %d is %s after its header", id, what))
		}
	}
}

// TestManyChangedBytes changes up to four bytes at once, near the beginning of pages.
func TestManyChangedBytes(t *testing.T) {
	f := newSound(t)
	rnd := rand.New(rand.NewPCG(4, 4))
	pages := f.used(t)
	rounds := 1000
	if testing.Short() {
		rounds = 200
	}
	for round := range rounds {
		bad := bytes.Clone(f.data)
		for range 1 + rnd.IntN(4) {
			page := pages[rnd.IntN(len(pages))]
			bad[page*pageSize+rnd.IntN(400)] = byte(rnd.IntN(256))
		}
		f.try(t, bad, fmt.Sprint("round ", round))
	}
}

// TestPageThatIsItsOwnChild checks a page that the database would follow until the stack overflows. No recover can
// catch a stack overflow.
func TestPageThatIsItsOwnChild(t *testing.T) {
	f := newSound(t)
	branches := 0
	for _, id := range f.used(t) {
		p := f.data[id*pageSize:][:pageSize]
		if num.Uint16(p[8:]) != branchPage {
			continue
		}
		branches++
		bad := bytes.Clone(f.data)
		for i := range int(num.Uint16(p[10:])) {
			num.PutUint64(bad[id*pageSize+headerSize+i*elementSize+8:], uint64(id))
		}
		if ok, _ := f.try(t, bad, fmt.Sprintf("page %d is its own child", id)); ok {
			t.Errorf("page %d is its own child: opens, want %v", id, ErrDamaged)
		}
	}
	if branches == 0 {
		t.Error("the file has no branch page")
	}
}

// TestCutWhileOpen truncates the file while it is open, so that the database reads memory that is no longer mapped.
func TestCutWhileOpen(t *testing.T) {
	f := newSound(t)
	path := filepath.Join(t.TempDir(), "cut.db")
	if err := os.WriteFile(path, f.data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "pending", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, pageSize); err != nil {
		s.Close()
		t.Skip("this system cannot truncate open files: ", err)
	}
	for key := range f.values {
		if got, err := s.Get(t.Context(), key); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "it was cut short while it was open") {
			t.Errorf("Get(%s) = %.40q, %v, want %v and that it was cut short", key, got, err, ErrDamaged)
		}
	}
	if err := s.Put(t.Context(), "late", nil, time.Hour); !errors.Is(err, ErrDamaged) {
		t.Errorf("Put: %v, want %v", err, ErrDamaged)
	}
	if err := s.Close(); !errors.Is(err, ErrDamaged) || strings.Count(err.Error(), "it was cut short") != 1 {
		t.Errorf("Close: %v, want %v and once that it was cut short", err, ErrDamaged)
	}
}
