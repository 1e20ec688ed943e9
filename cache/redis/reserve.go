package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

// The text of the scripts. shared.lua, with which most of them begin, says what they keep in Redis.
var (
	//go:embed lua/shared.lua
	sharedLua string
	//go:embed lua/reserve.lua
	reserveLua string
	//go:embed lua/hold.lua
	holdLua string
	//go:embed lua/report.lua
	reportLua string
	//go:embed lua/count.lua
	countLua string
)

var (
	reserveScript  = rueidis.NewLuaScript(sharedLua + reserveLua)
	holdScript     = rueidis.NewLuaScript(sharedLua + holdLua)
	reportScript   = rueidis.NewLuaScript(sharedLua + reportLua)
	oldCountScript = rueidis.NewLuaScript(countLua)
)

// The spans of the scripts.
const (
	// patience is how long a ticket in the queue need not ask. It has two seconds more.
	patience = 5 * time.Second
	// placePoll is how often a ticket that waits for a place asks if no message reaches it.
	placePoll = 500 * time.Millisecond
	// sendTime is how long the next start waits for the report that a request was sent. After that the
	// request counts as sent.
	sendTime = time.Second
	// moveTries and moveRest are how often, and after which rest, a script is tried again while its slot moves.
	moveTries = 15
	moveRest  = 10 * time.Millisecond
)

// Reserve implements [pace.Store]. One atomic script decides, by the server's clock.
func (s *Store) Reserve(ctx context.Context, authority string, r pace.Reservation) (pace.Grant, error) {
	args := []string{
		oldMicros(r.Ahead), oldMicros(sendTime / 2), moment(r.After), oldMicros(r.Waited), oldMicros(r.Life),
		oldMicros(r.Gap), oldMicros(r.Keep), strconv.Itoa(r.Parallel),
	}
	names := []string{authority}
	for _, scope := range r.Scopes {
		args = append(args, oldMicros(scope.Gap), oldMicros(scope.Keep), strconv.Itoa(scope.Parallel))
		names = append(names, scope.Key)
	}
	g, way, err := s.answer(ctx, reserveScript, r.Ticket, names, args)
	if way > 0 && way <= len(r.Scopes) {
		g.Scope = r.Scopes[way-1].Key
	}
	return g, err
}

// Hold implements [pace.Store].
func (s *Store) Hold(ctx context.Context, authority string, h pace.Holding) (pace.Condition, error) {
	names := append([]string{authority}, h.Scopes...)
	g, _, err := s.answer(ctx, holdScript, h.Ticket, names, []string{oldMicros(h.Life), moment(h.Started)})
	return g.Condition, err
}

// Report implements [pace.Store].
func (s *Store) Report(ctx context.Context, authority string, r pace.Report) (pace.Condition, error) {
	health := map[pace.Health]string{pace.Failing: "failing", pace.Healthy: "healthy"}[r.Health]
	level := "-1"
	if r.Level >= 0 {
		level = oldMicros(r.Level)
	}
	g, _, err := s.answer(ctx, reportScript, "", []string{authority}, []string{
		moment(r.Started), health, r.Cause, oldMicros(r.Wait),
		string(r.Why), level, strconv.Itoa(r.Failures), oldMicros(r.Rest), oldMicros(r.RestMax), r.Answered,
	})
	return g.Condition, err
}

// answer runs one of the scripts about an authority and scopes, with arguments after those that all scripts have. way is
// the index of the scope in the way, counted from 1; 0 is none.
func (s *Store) answer(ctx context.Context, script *rueidis.Lua, ticket string, names, args []string) (g pace.Grant, way int, err error) {
	keys, slots := s.paceNames(names)
	head := append([]string{s.wakeChannel(""), ticket, oldMicros(placePoll), oldMicros(sendTime), oldMicros(patience)}, names...)
	text, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (string, error) {
		if slots > 1 && c.Mode() == rueidis.ClientModeCluster {
			return "", nil // no script answers with an empty text
		}
		return execute(ctx, c, script, keys, append(head, args...)).ToString()
	})
	switch {
	case err != nil:
		return pace.Grant{}, 0, err
	case text == "":
		return pace.Grant{}, 0, fmt.Errorf("redis: a cluster keeps %.200q together only on one slot; want Options.Slot to return the same for all: %w", names, errors.ErrUnsupported)
	}
	return parseAnswer(text)
}

// parseAnswer reads the words of a script: see words in shared.lua.
func parseAnswer(text string) (g pace.Grant, way int, err error) {
	words := strings.SplitN(text, " ", 12)
	if len(words) != 12 {
		return pace.Grant{}, 0, fmt.Errorf("redis: an answer of %d words, want 12", len(words))
	}
	var n [11]time.Duration
	for i := range n {
		if i == 5 {
			continue // why
		}
		number, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			return pace.Grant{}, 0, fmt.Errorf("redis: word %d of an answer is %.20q, want a number", i, words[i])
		}
		n[i] = time.Duration(number)
	}
	const us = time.Microsecond
	if n[0] == 2 { // a message of a scope
		return pace.Grant{Start: n[1] * us, Scope: words[11], Condition: pace.Condition{Clock: n[3] * us}}, 0, nil
	}
	return pace.Grant{Granted: n[0] == 1, Start: n[1] * us, Condition: pace.Condition{
		Level: n[2] * us, Clock: n[3] * us, Until: n[4] * us, Why: pace.Reason(words[5]), Failures: int(n[6]),
		Open: n[7] == 1, Rest: n[8] * us, Probe: n[9] * us, Cause: words[11],
	}}, int(n[10]), nil
}

// Count implements [pace.Store].
func (s *Store) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	n, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (int64, error) {
		return execute(ctx, c, oldCountScript, []string{s.name("pace", "members")}, []string{process, oldMicros(life)}).AsInt64()
	})
	return int(n), err
}

// execute runs a script. Keys of a type that no script here makes are deleted first. A node of a cluster refuses a
// script while some of its keys have moved to another node, which usually takes some milliseconds for each slot.
func execute(ctx context.Context, c rueidis.Client, script *rueidis.Lua, keys, args []string) rueidis.RedisResult {
	r := script.Exec(ctx, c, keys, args)
	for tries := 0; slotMoves(r.Error()) && tries < moveTries; tries++ {
		<-time.After(moveRest)
		r = script.Exec(ctx, c, keys, args)
	}
	if wrongType(r.Error()) {
		c.Do(ctx, c.B().Del().Key(keys...).Build())
		r = script.Exec(ctx, c, keys, args)
	}
	return r
}

// slotMoves reports whether a node of a cluster refused a script because its slot moves: some of its keys are on
// another node, or it needs a key that would have to be made there.
func slotMoves(err error) bool {
	reply, ok := rueidis.IsRedisErr(err)
	return ok && (reply.IsTryAgain() || strings.Contains(reply.Error(), "non local key"))
}

// paceNames are the keys of state, line and alive of each name, and the number of slots that they are on. The braces
// put them on one node of a cluster.
func (s *Store) paceNames(names []string) (keys []string, slots int) {
	escape := strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace
	tags := map[string]bool{}
	for _, name := range names {
		tag, rest := "{"+escape(name)+"}", ""
		if s.slot != nil {
			tag, rest = "{"+escape(s.slot(name))+"}", escape(name)
		}
		tags[tag] = true
		for _, kind := range []string{":state", ":line", ":alive"} {
			keys = append(keys, s.name("pace", tag+rest+kind))
		}
	}
	return keys, len(tags)
}

// moment is a moment of the server's clock in whole microseconds, rounded up.
func moment(d time.Duration) string {
	return strconv.FormatInt(int64(d/time.Microsecond+min(d%time.Microsecond, 1)), 10)
}

// oldMicros is a span in whole microseconds, rounded up.
func oldMicros(d time.Duration) string {
	d = max(min(d, maxSpan), 0)
	return strconv.FormatInt(int64((d+time.Microsecond-1)/time.Microsecond), 10)
}
