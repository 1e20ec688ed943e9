package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/matcher"
)

// This file searches for the file of 500 KiB and the target of 2 KiB that take the matcher longest.

// An attack describes a hostile file and a target.
type attack struct {
	Letters int    // different letters of random text
	Pieces  int    // pieces of a rule
	Size    int    // largest size of a piece
	Head    int    // letters before the first star
	Piece   int    // kind of the pieces
	Target  int    // kind of the target
	End     int    // end of a rule
	Seed    uint64 // of the random text
}

// The numbers of kinds, and the ends of rules. No target has a "~".
const (
	pieceKinds  = 6
	targetKinds = 5
)

var ends = []string{"", "$", "*~", "*a$", "*a*~"}

// randomAttack returns any attack. Half of the numbers are small.
func randomAttack(r *rand.Rand) attack {
	upTo := func(n int) int { return 1 + r.IntN([]int{min(n, 12), n}[r.IntN(2)]) }
	return attack{upTo(36), upTo(1000) - 1, upTo(400), upTo(200) - 1, r.IntN(pieceKinds), r.IntN(targetKinds), r.IntN(len(ends)), r.Uint64N(100)}
}

// mutate returns an attack that has one or two numbers of another.
func (a attack) mutate(r *rand.Rand) attack {
	for range 1 + r.IntN(2) {
		b := randomAttack(r)
		switch r.IntN(8) {
		case 0:
			a.Letters = b.Letters
		case 1:
			a.Pieces = b.Pieces
		case 2:
			a.Size = b.Size
		case 3:
			a.Head = b.Head
		case 4:
			a.Piece = b.Piece
		case 5:
			a.Target = b.Target
		case 6:
			a.End = b.End
		case 7:
			a.Pieces, a.Size = max(0, a.Pieces+r.IntN(5)-2), max(1, a.Size+r.IntN(5)-2)
		}
	}
	return a
}

// text returns n random letters.
func (a attack) text(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(a.Letters)]
	}
	return string(b)
}

// target returns the target.
func (a attack) target() string {
	const size = 2047
	switch a.Target {
	case 0:
		return "/" + strings.Repeat("a", size)
	case 1:
		return "/" + strings.Repeat(strings.Repeat("a", a.Size)+"b", size)[:size]
	case 2:
		return ("/?%2F" + a.text(rand.New(rand.NewPCG(a.Seed, 1)), size))[:size+1]
	case 3:
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(threeBytes(i))
		}
		return "/" + b.String()[:size]
	}
	return "/" + a.text(rand.New(rand.NewPCG(a.Seed, 1)), size)
}

// job returns the file with its target.
func (a attack) job() job {
	r, target := rand.New(rand.NewPCG(a.Seed, 2)), a.target()
	body := fileOf500KiB(func(i int) string {
		var b strings.Builder
		b.WriteString("Allow:/" + target[1:1+a.Head])
		places := make([]int, a.Pieces) // where the target has the pieces of kind 2, in order
		for k := range places {
			places[k] = 1 + r.IntN(len(target)-a.Size-1)
		}
		slices.Sort(places)
		for k, place := range places {
			b.WriteByte('*')
			switch a.Piece {
			case 0:
				b.WriteString(a.text(r, a.Size))
			case 1:
				b.WriteString(a.text(r, 1+r.IntN(a.Size)))
			case 2:
				b.WriteString(target[place : place+a.Size])
			case 3:
				b.WriteString(strings.Repeat("a", 1+(i+k)%a.Size))
			case 4:
				b.WriteString(strings.Repeat("a", 1+(i+k)%a.Size) + "!")
			case 5:
				b.WriteString(target[place:place+1+r.IntN(a.Size)] + a.text(r, 1))
			}
		}
		return b.String() + ends[a.End]
	})
	return job{fmt.Sprintf("%+v", a), body, []string{target}}
}

// times returns the time of the match that builds the index, with the file read, and of a later match.
func (a attack) times() (first, later time.Duration) {
	j := a.job()
	first, later = time.Hour, time.Hour
	for range 3 {
		var slowest time.Duration // of the first two matches, of which one builds the index
		g := matcher.Parse(j.body, matcher.Dialect{})
		ask := func() { g.Match(token, j.targets[0]) }
		for range 2 {
			slowest = max(slowest, timeOf(ask))
		}
		first = min(first, slowest)
		for range 5 {
			later = min(later, timeOf(ask))
		}
	}
	return first, later
}

// search looks for the worst attacks for a while, by random ones and mutations of the worst so far.
func (b *bench) search(long time.Duration) {
	r := rand.New(rand.NewPCG(3, 4))
	var first, later attack
	var firstTime, laterTime time.Duration
	tried := 0
	for begin := time.Now(); time.Since(begin) < long; tried++ {
		a := randomAttack(r)
		switch r.IntN(5) {
		case 0, 1:
			a = first.mutate(r)
		case 2, 3:
			a = later.mutate(r)
		}
		if tried == 0 || a.Letters == 0 {
			a = randomAttack(r)
		}
		f, l := a.times()
		if f > firstTime {
			if f, _ = a.times(); f > firstTime { // not because the machine was busy
				first, firstTime = a, f
			}
		}
		if l > laterTime {
			if _, l = a.times(); l > laterTime {
				later, laterTime = a, l
			}
		}
	}
	fmt.Fprintf(b.out, "the worst of %d files of 500 KiB with targets of 2 KiB\n    goal: match at most 5 ms; first match and index at most 60 ms\n", tried)
	fmt.Fprintf(b.out, "    first or second match %12v   %+v\n    later match           %12v   %+v\n", firstTime, first, laterTime, later)
}
