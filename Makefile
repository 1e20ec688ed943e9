# The usual commands. .ci/run has the steps, and is what runs on every change.

.PHONY: all build test check ci fuzz demo docs bench numbers mutate clean

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

docs: # the generated pages
	go test ./internal/surface ./internal/conformance -update

bench:
	cd bench && go run ./broad && go run .

numbers: # docs/numbers.md
	.ci/numbers

mutate: # PACKAGE=./policy N=200 make mutate
	go run ./internal/mutate -n $(or $(N),200) $(or $(PACKAGE),./matcher)

clean:
	rm -rf polite dist dist-extra
