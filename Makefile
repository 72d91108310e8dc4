# make demo   a training job that is killed in the middle and finishes all the same
# make test   every test that this machine can run
# make bench  gangrun beside its peers

GO      ?= go
BIN     := bin/gangrun
TAGS    := urfave_cli_no_docs
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w -X github.com/gangrun/gangrun/cmd/gangrun/command.version=$(VERSION)

export CGO_ENABLED = 0

# Tests against operators and parsers that the program itself is to have nothing to do with: modules of their own.
MODULES := $(patsubst %/go.mod,%,$(wildcard test/*/go.mod test/*/*/go.mod))

.PHONY: all build demo test race fuzz lint vulncheck peers bench clean

all: build

build:
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/gangrun

demo: build
	examples/demo/demo $(BIN)

test:
	$(GO) vet ./...
	$(GO) test ./cmd/... ./supervisor/... ./rendezvous/... ./checkpoint/... ./exitcodes/...
	# Uncached: go does not know that these tests build and run the program.
	$(GO) test -count=1 -p 1 -timeout 20m ./test/...
	# Some bring whole programs along, Kubernetes among them, which take minutes to compile: no test's time.
	@set -e; for module in $(MODULES); do echo "$$module"; \
	  (cd $$module && for tool in $$($(GO) list tool 2>/dev/null); do $(GO) tool -n $$tool >/dev/null; done && \
	   $(GO) vet ./... && $(GO) test -count=1 -p 1 -timeout 20m ./...); done

# Data races need the C compiler.
race:
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m ./cmd/... ./supervisor/... ./rendezvous/... ./checkpoint/... ./exitcodes/...

# Counted, not timed: a time limit that ends while go's workers report to it is now and then taken for a failure
# ("context deadline exceeded"). This is about a minute for each parser; FUZZTIME=100000x is a quick look.
FUZZTIME ?= 1000000x
fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package; \
	  done; done

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	@set -e; for module in $(MODULES); do echo "$$module"; \
	  (cd $$module && $(GO) mod tidy -diff && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...); done

# Needs the vulnerability database, vuln.go.dev.
vulncheck:
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

# Real torch, TensorFlow, other inits and a root file system for containers, once, into a cache.
peers:
	test/peers/install

bench:
	$(GO) run ./test/bench

clean:
	rm -rf bin
