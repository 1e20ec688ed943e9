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
	// resubscribe is the rest after a subscription that failed.
	resubscribe = time.Second
	// listenIdle is how long a process without tickets keeps its subscription.
	listenIdle = time.Minute
)

// A bell calls the watchers of tickets. The server's messages come on one channel for each process, over the
// connection that carries everything else.
type bell struct {
	idle time.Duration // listenIdle, less in tests

	mu        sync.Mutex
	listeners map[string]*listener // by the name of the process
}

// A listener is the subscription of a process.
type listener struct {
	watchers map[string]func(pace.Grant) // by ticket
	idle     *time.Timer                 // calls endIdle; it runs while there are no watchers
	end      context.CancelFunc          // ends the present subscription
}

// Watch implements [pace.Store].
func (s *Store) Watch(ticket string, wake func(pace.Grant)) (stop func()) {
	process, _, _ := strings.Cut(ticket, ".")
	b := &s.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.listeners[process]
	if l == nil {
		l = &listener{watchers: map[string]func(pace.Grant){}, end: func() {}}
		l.idle = time.AfterFunc(b.idle, func() { b.endIdle(l) })
		b.listeners[process] = l
		go s.listen(process, l) // ends when the process has no tickets for a while, or with Close
	}
	l.idle.Stop()
	l.watchers[ticket] = wake
	return func() { b.remove(l, ticket) }
}

// remove removes the watcher of a ticket.
func (b *bell) remove(l *listener, ticket string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(l.watchers, ticket)
	if len(l.watchers) == 0 {
		l.idle.Reset(b.idle)
	}
}

// endIdle ends the present subscription of l, unless a watcher has come meanwhile.
func (b *bell) endIdle(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.watchers) == 0 {
		l.end()
	}
}

// listen keeps the subscription of a process while it has watchers, and for a while after that. A process has
// one such goroutine at a time, so that the end of one subscription cannot end the next. While the subscription
// is down, tickets ask from time to time.
func (s *Store) listen(process string, l *listener) {
	channel := s.wakeChannel(process)
	for ctx := s.bell.begin(process, l); ctx != nil; ctx = s.bell.begin(process, l) {
		client, err := s.link.connect(ctx)
		switch {
		case errors.Is(err, fs.ErrClosed):
			return
		case err == nil: // until the connection or ctx ends
			client.Receive(unsubscribing(ctx, channel), client.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) {
				s.bell.ring(l, m.Message)
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(resubscribe):
		}
	}
}

// begin returns the context of the next subscription of l. It is nil if l has no watchers. Then l is removed.
func (b *bell) begin(process string, l *listener) (ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.end() // frees a context whose subscription failed
	if len(l.watchers) == 0 {
		delete(b.listeners, process)
		return nil
	}
	ctx, l.end = context.WithCancel(context.Background())
	return ctx
}

// unsubscribing returns a context for Receive, so that it also ends the subscription when ctx ends.
func unsubscribing(ctx context.Context, channel string) context.Context {
	return rueidis.WithOnReceiveReturnHook(ctx, func(err error, c rueidis.CommandClient) error {
		if ctx.Err() != nil {
			work, cancel := context.WithTimeout(context.Background(), workLimit)
			defer cancel()
			c.Do(work, c.B().Unsubscribe().Channel(channel).Build())
		}
		return err
	})
}

// ring calls the watcher of the ticket that a message names.
func (b *bell) ring(l *listener, message string) {
	ticket, words, _ := strings.Cut(message, " ")
	g, _, err := parseAnswer(words)
	if err != nil {
		return
	}
	b.mu.Lock()
	wake := l.watchers[ticket]
	b.mu.Unlock()
	if wake != nil {
		wake(g)
	}
}

// wakeChannel is the channel for messages about the tickets of a process.
func (s *Store) wakeChannel(process string) string { return s.name("pace", "wake:"+process) }
