package pace

import "time"

// Skip makes the clock of p run ahead by d, as if the process had been stopped and none of its
// timers had fired.
func (p *Pacer) Skip(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base = p.base.Add(-d)
}

// Leases returns the number of hosts whose leases p has or waits for.
func (p *Pacer) Leases() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hosts.all {
		if h.lease != nil {
			n++
		}
	}
	return n
}
