# The usual commands. .ci/run has the steps, and is what runs on every change.

.PHONY: all build test check ci fuzz demo docs api bench exam-peers numbers mutate clean

all: check test

build:
	go build -o polite ./cmd/polite

test:
	go test ./...

check: # vet, gofmt, staticcheck
	.ci/run check

ci: # everything that a change must pass
	.ci/run

fuzz: # FUZZ=10m make fuzz
	.ci/run fuzz

demo:
	go run ./cmd/polite demo

docs: # the generated page
	go test ./internal/conformance -update

api: # how the exported names differ from the last release, or from the commit before
	.ci/run api

bench:
	cd bench && go run ./broad && go run .

exam-peers: # the table of real crawlers in docs/exam.md
	bench/exam/install /tmp/polite-npm
	cd bench && go run ./exam -npm /tmp/polite-npm -write

numbers: # docs/numbers.md
	.ci/numbers

mutate: # PACKAGE=./policy make mutate; it takes an hour. With FILES, a pattern of file names, these are left out.
	GOFLAGS=-short go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash \
		--workers 1 -S lt $(if $(FILES),--exclude-files '$(FILES)') $(or $(PACKAGE),./matcher)

clean:
	rm -rf polite dist dist-extra
