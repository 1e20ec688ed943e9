module github.com/rfc9309/polite/bench

go 1.25.0

require (
	github.com/benjaminestes/robots/v2 v2.0.5
	github.com/jimsmart/grobotstxt v1.0.3
	github.com/rfc9309/polite v0.0.0
	github.com/temoto/robotstxt v1.1.2
)

require (
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/rfc9309/polite => ../
