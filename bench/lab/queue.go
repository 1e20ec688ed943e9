package main

// An event happens at a moment.
type event interface{ when() moment }

// visit is the next visit to a host.
type visit struct {
	at   moment
	host uint32
}

func (v visit) when() moment { return v.at }

// events is a binary heap: the first event is the earliest. container/heap would
// allocate for each event, of which there are as many as hosts.
type events[E event] []E

func (q events[E]) first() moment {
	if len(q) == 0 {
		return moment(1<<63 - 1)
	}
	return q[0].when()
}

func (q *events[E]) push(e E) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2].when() > e.when() {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
	*q = h
}

func (q *events[E]) pop() E {
	h := *q
	top, e := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for 2*i+1 < len(h) {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1].when() < h[child].when() {
			child++
		}
		if h[child].when() >= e.when() {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = e
	}
	*q = h
	return top
}
