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

// resubscribe is the rest after a subscription that failed.
const resubscribe = time.Second

// A bell calls the watchers of tickets. The server's messages come on one channel for each process, over the
// connection that carries everything else.
type bell struct {
	watchers sync.Map // ticket to func(pace.Grant)
	channels sync.Map // names of processes whose channel is subscribed
}

// Watch implements [pace.Store].
func (s *Store) Watch(ticket string, wake func(pace.Grant)) (stop func()) {
	process, _, _ := strings.Cut(ticket, ".")
	s.bell.watchers.Store(ticket, wake)
	if _, known := s.bell.channels.LoadOrStore(process, nil); !known {
		go s.listen(s.wakeChannel(process)) // ends with Close
	}
	return func() { s.bell.watchers.Delete(ticket) }
}

// listen keeps the subscription to a channel until the store is closed. While it is down, tickets ask from time to
// time.
func (s *Store) listen(channel string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		client, err := s.link.connect(ctx)
		switch {
		case errors.Is(err, fs.ErrClosed):
			return
		case err == nil: // until the connection ends
			client.Receive(ctx, client.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) {
				s.bell.ring(m.Message)
			})
		}
		<-time.After(resubscribe)
	}
}

// ring calls the watcher of the ticket that a message names.
func (b *bell) ring(message string) {
	ticket, words, _ := strings.Cut(message, " ")
	g, _, err := parseAnswer(words)
	if err != nil {
		return
	}
	if wake, ok := b.watchers.Load(ticket); ok {
		wake.(func(pace.Grant))(g)
	}
}

// wakeChannel is the channel for messages about the tickets of a process.
func (s *Store) wakeChannel(process string) string { return s.name("pace", "wake:"+process) }
