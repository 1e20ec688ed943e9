package main

import (
	"encoding/json"
	"syscall/js"
	"time"

	"github.com/rfc9309/polite/internal/playground"
)

// main gives the page two functions, politeTry and politeExplain. They take text and return
// JSON: an object with the member "error" if something is wrong.
func main() {
	js.Global().Set("politeTry", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var q playground.Question
		if err := json.Unmarshal([]byte(args[0].String()), &q); err != nil {
			return reply(nil, err)
		}
		return reply(playground.Try(q, time.Now().UTC().Truncate(time.Second)))
	}))
	js.Global().Set("politeExplain", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return reply(playground.Explain(args[0].String(), args[1].String()))
	}))
	select {} // the functions are used as long as the page is open
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
