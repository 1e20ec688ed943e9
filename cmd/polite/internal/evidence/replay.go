package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// longLine is the longest line of a log that is read, in bytes: a text at its limit,
// with every byte escaped, and its headers.
const longLine = 16 << 20

// A Replay counts what was derived again.
type Replay struct {
	Fetches   int
	Decisions int // derived again, with the same result
	Others    int // by the operator, or by the pace alone: these are not derived from texts
}

// A DifferenceError is a decision that does not follow from the log before it.
type DifferenceError struct {
	Line          int
	Logged, Again string // JSON
}

func (e *DifferenceError) Error() string {
	return fmt.Sprintf("line %d differs\nlogged  %s\nderived %s", e.Line, e.Logged, e.Again)
}

// replaying is a log that is being read.
type replaying struct {
	Replay
	profile *policy.Profile
	token   string
	records map[string]*policy.Record // by the URL of robots.txt
}

// Run derives the decisions of a log again, from the texts and times that it has. The
// error is a *DifferenceError at the first decision that differs. Memory grows with the
// number of sites.
func (p *Replay) Run(log io.Reader) error {
	r := &replaying{records: map[string]*policy.Record{}}
	defer func() { *p = r.Replay }()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longLine)
	n := 0
	for lines.Scan() {
		n++
		var l line
		err := json.Unmarshal(lines.Bytes(), &l)
		if err != nil {
			err = fmt.Errorf("want a line that polite check --evidence wrote: %w", err)
		} else {
			err = r.step(l)
		}
		var differs *DifferenceError
		switch {
		case errors.As(err, &differs):
			differs.Line = n
			return differs
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if lines.Err() != nil {
		return fmt.Errorf("line %d: %w", n+1, lines.Err())
	}
	if r.profile == nil {
		return errors.New("the log is empty; want a file of polite check --evidence")
	}
	return nil
}

func (r *replaying) step(l line) error {
	switch {
	case l.set() != 1:
		return errors.New("want one of \"run\", \"fetched\" and \"decided\"")
	case l.Run != nil && r.profile != nil:
		return errors.New("another line with \"run\"; want the log of one run")
	case l.Run != nil:
		profile, ok := policy.ByName(l.Run.Profile)
		if !ok {
			return fmt.Errorf("no profile %q", l.Run.Profile)
		}
		r.profile, r.token = profile, l.Run.Token
	case r.profile == nil:
		return errors.New("want a line with \"run\" first")
	case l.Fetched != nil:
		r.Fetches++
		a := l.Fetched.attempt()
		r.records[a.Robots] = r.profile.Learn(r.records[a.Robots], a)
	default:
		return r.decide(l.Decided)
	}
	return nil
}

// set returns how many fields of a line are set.
func (l *line) set() (n int) {
	for _, set := range []bool{l.Run != nil, l.Fetched != nil, l.Decided != nil} {
		if set {
			n++
		}
	}
	return n
}

// decide derives a decision again and compares the two. What the pace adds to a decision
// is not compared. The record of the URL's own authority counts, whatever Robots says.
// Without an override, each decision that allows must follow from a text or be about
// /robots.txt itself, for which no record decides.
func (r *replaying) decide(logged json.RawMessage) error {
	var d struct { // what the derivation needs, and what the pace added
		Verdict  string    `json:"verdict"`
		URL      string    `json:"url"`
		At       time.Time `json:"at"`
		Turn     time.Time `json:"turn"`
		Pacing   string    `json:"pacing"`
		Override string    `json:"override"`
	}
	if err := json.Unmarshal(logged, &d); err != nil {
		return err
	}
	paced := d.Pacing != "" && d.Verdict == policy.Defer.String()
	if d.Override != "" || paced || d.At.IsZero() && d.Verdict != policy.Allow.String() {
		r.Others++
		return nil
	}
	target, err := url.Parse(d.URL)
	if err != nil {
		return err
	}
	authority, err := fetcher.Authority(target)
	if err != nil {
		return err
	}
	var rec *policy.Record
	if !d.At.IsZero() {
		rec = r.records[authority+"/robots.txt"]
	}
	again := rec.Decide(r.token, target, d.At)
	again.Turn, again.Pacing, again.URL, again.Profile = d.Turn, d.Pacing, d.URL, r.profile.Name
	text, err := json.Marshal(again)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, logged) {
		return &DifferenceError{Logged: string(logged), Again: string(text)}
	}
	r.Decisions++
	return nil
}
