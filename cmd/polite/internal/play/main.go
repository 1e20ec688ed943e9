//go:build js

// Play is the program of the page in docs/play, as WebAssembly. It is here because only
// cmd/polite can import its checks of a robots.txt.
package main

import (
	"encoding/json"
	"fmt"
	"syscall/js"
	"time"

	"github.com/rfc9309/polite/cmd/polite/internal/lint"
	"github.com/rfc9309/polite/internal/playground"
	"github.com/rfc9309/polite/policy"
)

// maxRemarks is how many remarks the page shows.
const maxRemarks = 100

// main gives the page three functions: politeTry, politeLint and politeExplain. They take text
// and return JSON: an object with the member "error" if something is wrong.
func main() {
	js.Global().Set("politeTry", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var q playground.Question
		if err := json.Unmarshal([]byte(args[0].String()), &q); err != nil {
			return reply(nil, err)
		}
		return reply(playground.Try(q, time.Now().UTC().Truncate(time.Second)))
	}))
	js.Global().Set("politeLint", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return reply(remarks([]byte(args[0].String()), args[1].String()))
	}))
	js.Global().Set("politeExplain", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return reply(playground.Explain(args[0].String(), args[1].String()))
	}))
	select {} // the functions are used as long as the page is open
}

// remarks returns the first remarks of polite lint on a text.
func remarks(text []byte, profile string) ([]lint.Remark, error) {
	p, ok := policy.ByName(profile)
	if !ok {
		return nil, fmt.Errorf("there is no profile %q", profile)
	}
	all := lint.Run(text, &lint.Options{Profiles: []*policy.Profile{p}, Cut: len(text) > p.Limit})
	return append([]lint.Remark{}, all[:min(len(all), maxRemarks)]...), nil
}

func reply(v any, err error) string {
	if err != nil {
		v = map[string]string{"error": err.Error()}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return `{"error":"the result cannot be written"}`
	}
	return string(text)
}
