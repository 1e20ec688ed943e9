//go:build unix

package redis

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
)

// The store keeps the promises of package pace on each kind of server.
func TestPace(t *testing.T) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		t.Run(program, func(t *testing.T) {
			if program != "redis-server" {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("no %s on this machine", program)
				}
				t.Setenv("POLITE_REDIS_SERVER", program)
			}
			srv := start(t)
			pacetest.Run(t, func(t *testing.T) pace.Store {
				srv.do("FLUSHALL")
				return opened(t, srv.url(), slow).Pace()
			})
		})
	}
}

// Keys that this package did not write are as nothing known.
func TestForeignHosts(t *testing.T) {
	srv := start(t)
	p := opened(t, srv.url(), slow).Pace()
	const host, processes = "polite:1:host:k", "polite:1:processes:"
	for _, write := range [][]string{
		{"SET", host, "junk"},
		{"SET", host, ""},
		{"SET", host, "\x80"},
		{"SET", host, "\xc1"},
		{"SET", host, "\x82\xa2at\xa1x\xa5queue\x90"},
		{"LPUSH", host, "a list"},
		{"HSET", host, "a", "hash"},
	} {
		t.Run("6/"+write[0], func(t *testing.T) {
			srv.do("FLUSHALL")
			srv.do(write...)
			want := pace.Lease{Granted: true}
			if got, err := p.Lease(t.Context(), pace.Claim{Key: "k", Process: "a"}, time.Hour); err != nil || got != want {
				t.Errorf("Lease = %+v, %v; want %+v", got, err, want)
			}
			want.State = pace.State{Failures: 1, Keep: time.Hour}
			if got, err := p.Keep(t.Context(), pace.Claim{Key: "k", Process: "a"}, time.Hour, want.State, true); err != nil || got != want {
				t.Errorf("Keep = %+v, %v; want %+v", got, err, want)
			}
		})
	}
	srv.do("SET", processes, "junk")
	if n, err := p.Count(t.Context(), "a", time.Hour); err != nil || n != 1 {
		t.Errorf("6/count: Count = %d, %v; want 1", n, err)
	}
}

// A State that cannot be read is as none.
func TestForeignState(t *testing.T) {
	srv := start(t)
	p := opened(t, srv.url(), slow).Pace()
	if _, err := p.Lease(t.Context(), pace.Claim{Key: "k", Process: "a"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	srv.do("EVAL", `local k = cmsgpack.unpack(redis.call('GET', KEYS[1])) k.state, k.saved = 'junk', k.at redis.call('SET', KEYS[1], cmsgpack.pack(k))`, "1", "polite:1:host:k")
	got, err := p.Lease(t.Context(), pace.Claim{Key: "k", Process: "a"}, time.Hour)
	if err != nil || !got.Granted || got.State != (pace.State{}) {
		t.Errorf("6/state: Lease = %+v, %v; want it granted with the zero State", got, err)
	}
}

// A server whose clock is set back keeps leases and places for the rest of their lives, and not for the difference.
func TestClockSetBack(t *testing.T) {
	srv := start(t)
	p := opened(t, srv.url(), slow).Pace()
	if _, err := p.Lease(t.Context(), pace.Claim{Key: "k", Process: "a"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	s := pace.State{Failures: 1, Keep: time.Hour}
	if _, err := p.Keep(t.Context(), pace.Claim{Key: "k", Process: "a"}, time.Minute, s, false); err != nil {
		t.Fatal(err)
	}
	srv.do("EVAL", `local k = cmsgpack.unpack(redis.call('GET', KEYS[1])) for _, m in ipairs({'at', 'saved', 'keep'}) do k[m] = k[m] + 3600 * 1000000 end k.queue[1].ends = k.queue[1].ends + 3600 * 1000000 redis.call('SET', KEYS[1], cmsgpack.pack(k))`, "1", "polite:1:host:k")
	got, err := p.Lease(t.Context(), pace.Claim{Key: "k", Process: "b"}, time.Minute)
	if err != nil || got.Granted || got.Free > time.Minute || got.Free < 30*time.Second || got.State != s || got.Age > 30*time.Second {
		t.Errorf("6/clock: Lease = %+v, %v; want it free in a minute, and State %+v", got, err, s)
	}
}

// Nothing stays on the server for ever.
func TestEveryHostHasATimeToLive(t *testing.T) {
	srv := start(t)
	p := opened(t, srv.url(), slow).Pace()
	for i, life := range []time.Duration{time.Second, 1<<63 - 1} {
		for _, keep := range []time.Duration{0, 1<<63 - 1} {
			key := fmt.Sprint(i, keep)
			if _, err := p.Lease(t.Context(), pace.Claim{Key: key, Process: "a"}, life); err != nil {
				t.Fatal(err)
			}
			if err := p.Return(t.Context(), pace.Claim{Key: key, Process: "a"}, pace.State{Keep: keep}); err != nil {
				t.Fatal(err)
			}
			if left := srv.do("PTTL", "polite:1:host:"+key); left == "-1" || left == "-2" {
				t.Errorf("6/ttl: after a life of %v and a State to keep for %v the time to live is %s; want one", life, keep, left)
			}
		}
	}
	if err := p.Return(t.Context(), pace.Claim{Key: "stranger", Process: "a"}, pace.State{}); err != nil {
		t.Fatal(err)
	}
	if n := srv.do("EXISTS", "polite:1:host:stranger"); n != "0" {
		t.Error("6/ttl: a call that changes nothing leaves a key; want none")
	}
}
