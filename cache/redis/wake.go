package redis

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

const (
	// listenFor is how long a subscription lasts. A process that still has tickets then subscribes once more. A
	// message that comes between the two is lost, and its ticket asks.
	listenFor = time.Minute
)

// A bell calls the watchers of tickets. The server's messages come on one channel for each process, over the
// connection that carries everything else.
type bell struct {
	period time.Duration // listenFor, less in tests

	mu       sync.Mutex
	watchers map[string]watchers // by the name of the process, which has a subscription
}

// watchers are the functions to call for the tickets of a process.
type watchers map[string]func(pace.Grant)

// Watch implements [pace.Store].
func (s *Store) Watch(ticket string, wake func(pace.Grant)) (stop func()) {
	process, _, _ := strings.Cut(ticket, ".")
	b := &s.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers[process] == nil {
		b.watchers[process] = watchers{}
		go s.listen(process) // ends when the process has no tickets at the end of a subscription, or with Close
	}
	b.watchers[process][ticket] = wake
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers[process], ticket)
	}
}

// listen keeps the subscription of a process while it has watchers. A process has one such goroutine at a time, so
// that the end of one subscription cannot end the next. While the subscription is down, tickets ask from time to
// time.
func (s *Store) listen(process string) {
	ring := func(m rueidis.PubSubMessage) { s.bell.ring(process, m.Message) }
	for s.bell.hasWatchers(process) && s.subscribe(s.wakeChannel(process), ring) {
	}
}

// subscribe passes the messages of a channel to ring for a period, or until the subscription fails. It reports false
// if the store is closed.
func (s *Store) subscribe(channel string, ring func(rueidis.PubSubMessage)) bool {
	ctx, cancel := context.WithTimeout(context.Background(), s.bell.period)
	defer cancel()
	client, err := s.link.connect(ctx)
	switch {
	case errors.Is(err, fs.ErrClosed):
		return false
	case err == nil: // until the connection or ctx ends
		client.Receive(unsubscribing(ctx, channel), client.B().Subscribe().Channel(channel).Build(), ring)
	}
	select {
	case <-ctx.Done():
	case <-time.After(resubscribe):
	}
	return true
}

// hasWatchers reports whether a process has watchers. If it has none, it is removed.
func (b *bell) hasWatchers(process string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.watchers[process]) == 0 {
		delete(b.watchers, process)
		return false
	}
	return true
}

// ring calls the watcher of the ticket that a message names.
func (b *bell) ring(process, message string) {
	ticket, words, _ := strings.Cut(message, " ")
	g, _, err := parseAnswer(words)
	if err != nil {
		return
	}
	b.mu.Lock()
	wake := b.watchers[process][ticket]
	b.mu.Unlock()
	if wake != nil {
		wake(g)
	}
}

// wakeChannel is the channel for messages about the tickets of a process.
func (s *Store) wakeChannel(process string) string { return s.name("pace", "wake:"+process) }
