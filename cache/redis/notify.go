package redis

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

// resubscribe is the rest after a subscription that failed.
const resubscribe = time.Second

// Notify implements [pace.Store]. The messages come over the connection that carries
// everything else. Those sent while the subscription is down are lost.
func (s pacing) Notify(process string, f func(pace.Claim, pace.Lease)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go s.listen(ctx, s.channel(process), func(message string) { // ends with stop or with Close
		if c, l, err := readAnswer(message); err == nil {
			c.Process = process
			f(c, l)
		}
	})
	return cancel
}

// listen calls f with the messages of a channel until ctx ends or the store is closed.
func (s pacing) listen(ctx context.Context, channel string, f func(message string)) {
	for ctx.Err() == nil {
		client, err := s.link.connect(ctx)
		if errors.Is(err, fs.ErrClosed) {
			return
		}
		if err == nil { // until the connection or ctx ends
			subscribe := client.B().Subscribe().Channel(channel).Build()
			err = client.Receive(unsubscribing(ctx, channel), subscribe, func(m rueidis.PubSubMessage) { f(m.Message) })
		}
		if err == nil { // another call of Notify for this process was stopped
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(resubscribe):
		}
	}
}

// unsubscribing returns a context for Receive that ends the subscription, too, when ctx ends.
func unsubscribing(ctx context.Context, channel string) context.Context {
	return rueidis.WithOnReceiveReturnHook(ctx, func(err error, c rueidis.CommandClient) error {
		if ctx.Err() != nil {
			work, cancel := context.WithTimeout(context.Background(), dialTime)
			defer cancel()
			c.Do(work, c.B().Unsubscribe().Channel(channel).Build())
		}
		return err
	})
}

// channel is the channel for the messages to a process.
func (s pacing) channel(process string) string { return s.name("wake", process) }
