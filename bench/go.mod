module github.com/rfc9309/polite/bench

go 1.25.0

require (
	github.com/PuerkitoBio/gocrawl v1.0.1
	github.com/benjaminestes/robots/v2 v2.0.5
	github.com/gocolly/colly/v2 v2.3.0
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	github.com/jimsmart/grobotstxt v1.0.3
	github.com/redis/rueidis v1.0.79
	github.com/rfc9309/polite v0.0.0
	github.com/temoto/robotstxt v1.1.2
	golang.org/x/net v0.58.0
	golang.org/x/sync v0.22.0
)

require (
	github.com/PuerkitoBio/goquery v1.11.0 // indirect
	github.com/PuerkitoBio/purell v1.2.1 // indirect
	github.com/andybalholm/cascadia v1.3.3 // indirect
	github.com/antchfx/htmlquery v1.3.5 // indirect
	github.com/antchfx/xmlquery v1.5.0 // indirect
	github.com/antchfx/xpath v1.3.5 // indirect
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/golang/groupcache v0.0.0-20241129210726-2c02b8208cf8 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/kennygrant/sanitize v1.2.4 // indirect
	github.com/nlnwa/whatwg-url v0.6.2 // indirect
	github.com/pquerna/cachecontrol v0.2.0 // indirect
	github.com/saintfish/chardet v0.0.0-20230101081208-5e3ef4b5456d // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/appengine v1.6.8 // indirect
	google.golang.org/protobuf v1.36.10 // indirect
)

replace github.com/rfc9309/polite => ../
