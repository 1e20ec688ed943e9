package redis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

// resubscribe is the rest after a subscription that failed.
const resubscribe = time.Second

// A bell calls the watchers of the tickets of one process. The server's messages come on one channel for each
// process, over the connection that carries everything else.
type bell struct {
	mu       sync.Mutex
	watchers map[string]func(pace.Grant) // by ticket
	channels map[string]bool             // subscribed, by name of process
}

// Watch implements [pace.Store].
func (s *Store) Watch(ticket string, wake func(pace.Grant)) (stop func()) {
	process, _, _ := strings.Cut(ticket, ".")
	b := &s.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers == nil {
		b.watchers, b.channels = make(map[string]func(pace.Grant)), make(map[string]bool)
	}
	b.watchers[ticket] = wake
	if !b.channels[process] {
		b.channels[process] = true
		go s.listen(s.wakeChannel(process)) // ends with Close
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, ticket)
	}
}

// listen keeps the subscription to a channel until the store is closed. While it is down, tickets ask from time to
// time.
func (s *Store) listen(channel string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		client, err := s.link.connect(ctx)
		if err == nil {
			err = client.Receive(ctx, client.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) {
				s.bell.ring(m.Message)
			})
		}
		if errors.Is(err, fs.ErrClosed) || errors.Is(err, rueidis.ErrClosing) {
			return
		}
		<-time.After(resubscribe)
	}
}

// ring calls the watcher of the ticket that a message names.
func (b *bell) ring(message string) {
	var ticket string
	var granted, start, level, clock int64
	if _, err := fmt.Sscan(message, &ticket, &granted, &start, &level, &clock); err != nil {
		return
	}
	b.mu.Lock()
	wake := b.watchers[ticket]
	b.mu.Unlock()
	if wake != nil {
		wake(grant(granted, start, level, clock))
	}
}

// wakeChannel is the channel on which a process is told of its tickets.
func (s *Store) wakeChannel(process string) string { return s.name("pace", "wake:"+process) }
