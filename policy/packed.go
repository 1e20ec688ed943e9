package policy

import (
	"strings"
	"sync"
	"unsafe"
)

// detail is what only some records need.
type detail struct {
	served       string // where the last answer came from, if not from robots
	origin       string // where the copy came from, if not from robots
	etag         string
	lastModified string
	cause        string // the last failure in words
	clause       string // of a ruling without a copy, if not the access's own
	down         int64  // the first failure of this outage
}

// packed is a detail as records hold it, with one text for all of its strings:
// less than half the memory, and two objects instead of up to seven.
type packed struct {
	text string
	ends [6]uint32 // where in text each string ends
	down int64
}

// texts are the strings of a detail in the order of packed.
func (d *detail) texts() [6]*string {
	return [...]*string{&d.served, &d.origin, &d.etag, &d.lastModified, &d.cause, &d.clause}
}

// pack is the detail's packed form.
func (d detail) pack() packed {
	p := packed{down: d.down}
	var b strings.Builder
	for i, s := range d.texts() {
		b.WriteString(*s)
		p.ends[i] = uint32(b.Len())
	}
	p.text = strings.Clone(b.String()) // without the builder's room
	return p
}

// detail is what the record has of it.
func (r *Record) detail() (d detail) {
	if r.more == nil {
		return d
	}
	start := uint32(0)
	for i, s := range d.texts() {
		end := r.more.ends[i]
		*s = r.more.text[start:end]
		start = end
	}
	d.down = r.more.down
	return d
}

// describe gives the record its detail: none if it is all zero, and one that
// all have in common if it follows from the status.
func (r *Record) describe(d detail) {
	p := d.pack()
	switch common := refusal(r.status); {
	case p == packed{}:
		r.more = nil
	case common != nil && p == *common:
		r.more = common
	default:
		r.more = &p
	}
}

// detailSize is how many octets of memory the record's detail takes by itself.
func (r *Record) detailSize() int {
	if r.more == nil || r.more == refusal(r.status) {
		return 0
	}
	return int(unsafe.Sizeof(*r.more)) + len(r.more.text)
}

// refusal is the detail of an answer that says no more than its status, nil if
// the status has none. A million records hold a great many 404 Not Found.
func refusal(status int32) *packed {
	if status < 400 || status > 499 {
		return nil
	}
	return &refusals()[status-400]
}

// refusals are those of the statuses from 400 on. Nothing changes them.
var refusals = sync.OnceValue(func() *[100]packed {
	var all [100]packed
	for i := range all {
		s := step{a: &Attempt{Status: 400 + i}}
		all[i] = detail{cause: s.statusCause(), clause: "2.3.1.3"}.pack()
	}
	return &all
})
