package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// sound is a store's file with all that one can have: a tree of two levels, values that take several
// pages, free pages, two generations of head.
type sound struct {
	octets []byte
	values map[string]string
}

func newSound(t *testing.T) sound {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.db")
	s := opened(t, path)
	values := map[string]string{}
	add := func(i, size int) {
		key := fmt.Sprintf("https://host%d.example", i)
		values[key] = strings.Repeat("rules of "+key+"\n", size)
		put(t, s, key, values[key], time.Hour)
	}
	for i := range 60 {
		add(i, 1+i%7)
	}
	add(60, 400)
	flushing{s}.flushNow()
	for i := range 10 {
		add(i*3, 9)
		key := fmt.Sprintf("https://host%d.example", i*3+1)
		delete(values, key)
		s.Delete(t.Context(), key)
	}
	s.Close()
	octets, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sound{octets, values}
}

// try opens a file of these octets and uses it in every way. Nothing may crash, hang, or return what was
// not put under the key; it returns whether the file opened, and how many of its values it still had.
func (f sound) try(t *testing.T, octets []byte, what string) (opens bool, found int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(path, octets, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	s, err := openWith(path, nil, bbolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "of version") {
			t.Errorf("%s: Open: %v, want %v", what, err, ErrDamaged)
		}
		return false, 0
	}
	for key, want := range f.values {
		got, err := s.Get(t.Context(), key)
		switch {
		case err == nil && string(got) == want:
			found++
		case err == nil && strings.ReplaceAll(string(got), "rules of "+key+"\n", "") != "":
			// The rules of its own an earlier generation of the file may give.
			t.Errorf("%s: Get(%s) = %.60q, want %.60q or nothing", what, key, got, want)
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged):
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
	if s.broken != nil {
		t.Errorf("%s: passed the check and broke: %v", what, s.broken)
	}
	for key := range f.values {
		got, err := s.Get(t.Context(), key)
		if err == nil && string(got) != "new of "+key {
			t.Errorf("%s: after Put or Delete, Get(%s) = %.60q", what, key, got)
		}
	}
}

func TestSoundFileIsSound(t *testing.T) {
	f := newSound(t)
	if opens, found := f.try(t, f.octets, "untouched"); !opens || found != len(f.values) {
		t.Errorf("untouched file: opens %v, %d values, want true, %d", opens, found, len(f.values))
	}
}

// used returns the numbers of the pages that hold something.
func (f sound) used(t *testing.T) (pages []int) {
	t.Helper()
	c := &checker{file: bytes.NewReader(f.octets)}
	free, err := c.reach(int64(len(f.octets)))
	if err != nil {
		t.Fatal(err)
	}
	for id := range c.pages {
		if c.uses(id) || id == free {
			pages = append(pages, int(id))
		}
	}
	return pages
}

// hard reports whether octet i is one of those to be tried: all of heads and first elements, every thirteenth
// where keys and further elements stand, few of the rest.
func hard(i int) bool {
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

func TestChangedOctet(t *testing.T) {
	f := newSound(t)
	rnd := rand.New(rand.NewPCG(9, 9))
	var opens, refused int
	for _, page := range f.used(t) {
		for i := page * pageSize; i < (page+1)*pageSize; i++ {
			if !hard(i) {
				continue
			}
			bad := bytes.Clone(f.octets)
			bad[i] ^= [...]byte{0x01, 0x80, 0xff, 0x03, byte(1 + rnd.IntN(255))}[rnd.IntN(5)]
			what := fmt.Sprintf("page %d octet %d is %#x for %#x", page, i%pageSize, bad[i], f.octets[i])
			if ok, _ := f.try(t, bad, what); ok {
				opens++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d octets, %d values: %d changes opened, %d refused", len(f.octets), len(f.values), opens, refused)
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
	for n := 1; n < len(f.octets); n += step {
		f.try(t, f.octets[:n], fmt.Sprintf("cut to %d octets", n))
	}
	// Something was written behind it, or space was reserved.
	if ok, found := f.try(t, append(bytes.Clone(f.octets), make([]byte, 5000)...), "longer"); !ok || found != len(f.values) {
		t.Errorf("longer file: opens %v, %d values, want true, %d", ok, found, len(f.values))
	}
}

// A disk that loses its power may have written some pages and not others.
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
			"zeros": make([]byte, pageSize), "noise": noise, "another page": f.octets[other : other+pageSize],
		} {
			bad := bytes.Clone(f.octets)
			copy(bad[id*pageSize:], content)
			f.try(t, bad, fmt.Sprintf("page %d is %s", id, what))
			// The same behind a true head, so that the walk gets further into the page.
			copy(bad[id*pageSize:], f.octets[id*pageSize:][:headerSize])
			f.try(t, bad, fmt.Sprintf("page %d is %s behind its head", id, what))
		}
	}
}

// Some octets at once, in the parts that matter, again and again.
func TestManyChangedOctets(t *testing.T) {
	f := newSound(t)
	rnd := rand.New(rand.NewPCG(4, 4))
	pages := f.used(t)
	rounds := 1000
	if testing.Short() {
		rounds = 200
	}
	for round := range rounds {
		bad := bytes.Clone(f.octets)
		for range 1 + rnd.IntN(4) {
			page := pages[rnd.IntN(len(pages))]
			bad[page*pageSize+rnd.IntN(400)] = byte(rnd.IntN(256))
		}
		f.try(t, bad, fmt.Sprint("round ", round))
	}
}

// A file that is cut while it is open makes the database touch memory that is not there.
func TestCutWhileOpen(t *testing.T) {
	f := newSound(t)
	path := filepath.Join(t.TempDir(), "cut.db")
	if err := os.WriteFile(path, f.octets, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, pageSize); err != nil {
		t.Skip("this system does not cut open files: ", err)
	}
	for key := range f.values {
		if got, err := s.Get(t.Context(), key); !errors.Is(err, ErrDamaged) {
			t.Errorf("Get(%s) = %.40q, %v, want %v", key, got, err, ErrDamaged)
		}
	}
	if err := s.Put(t.Context(), "k", nil, time.Hour); !errors.Is(err, ErrDamaged) {
		t.Errorf("Put: %v, want %v", err, ErrDamaged)
	}
	if err := s.Close(); !errors.Is(err, ErrDamaged) {
		t.Errorf("Close: %v, want %v", err, ErrDamaged)
	}
}
