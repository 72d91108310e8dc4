# make demo   training that is killed, that hangs, and that has a mistake in it; make recording for the README
# make test   every test that this machine can run, and what it could not; CONTRIBUTING.md has the other tests
# make bench  gangrun beside its peers
# make release  everything that is published, in dist/

GO      ?= go
BIN     := bin/gangrun
TAGS    := urfave_cli_no_docs
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w -X github.com/gangrun/gangrun/cmd/gangrun/command.version=$(VERSION)

export CGO_ENABLED = 0

# Tests against operators and parsers that the program itself is to have nothing to do with: modules of their own.
OPERATORS := test/kubernetes test/trainingoperator
PARSERS   := test/examples/compose
MODULES   := rendezvous/agent/realstores/etcd35 rendezvous/agent/realstores/etcd36 $(PARSERS) $(OPERATORS)

UNITS   := ./cmd/... ./observe/... ./supervisor/... ./rendezvous/... ./checkpoint/... ./exitcodes/... ./internal/... ./docs ./packaging/...
# Tests mostly wait, and a fresh machine compiles meanwhile: more packages at a time than it has processors. Where make peers has been
# those that run the program come one after the other, since real training computes and has limits.
PEERS   := $(CI)$(wildcard $(or $(GANGRUN_TEST_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gangrun-test)/torch)
# Uncached: go does not know that these tests build and run the program.
RUNS    := -count=1 -p $(if $(PEERS),1,4) -timeout 20m
SUMMARY := GO='$(GO)' $(GO) run ./test/summary

.PHONY: all build release demo recording goodput test test-operators test-long chaos race fuzz lint vulncheck peers bench clean

all: build

# The same bytes wherever it is built. Not for the demo, whose packages the tests can then use: they are compiled once.
TRIMPATH  := -trimpath
demo: TRIMPATH :=

build: exitcodes/builtin.go
	$(GO) build $(TRIMPATH) -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/gangrun

exitcodes/builtin.go: exitcodes/rules.yaml
	$(GO) generate ./exitcodes

# Static programs for two architectures as tar.gz, deb, rpm and wheel, with checksums and what is in them: the same commit
# makes the same bytes. VERSION is a tag's name or what git describe says.
release:
	$(GO) run ./packaging/release -version '$(VERSION)' -out dist

demo: build
	examples/demo/demo $(BIN)

# What README.md shows: the demo as it runs here, for a browser to play.
recording: build
	examples/demo/record 'The demo of gangrun, recorded' examples/demo/demo $(BIN) > docs/demo.svg.new
	mv docs/demo.svg.new docs/demo.svg

# What docs/goodput.md shows: its tables and its picture, by a simulation that decides with what is shipped.
goodput:
	$(GO) run ./test/goodput -picture docs/goodput.svg -page docs/goodput.md

# What takes long is left out, or cut down to a sample: -short, and more of it outside of CI. make lint vets.
test:
	@$(SUMMARY) -beyond 'the operators of Kubernetes, the parser of Docker Compose; make test-operators' \
	  -vet=off -short $(if $(PEERS),,-p 4) $(UNITS) + -vet=off -short $(RUNS) ./test/...

# Kubernetes and the operators that start training jobs there, which take minutes to compile: no test's time.
test-operators:
	@set -e; for module in $(OPERATORS); do (cd $$module && for tool in $$($(GO) list tool); do \
	  echo "compiling $$tool"; $(GO) tool -n $$tool >/dev/null; done); done
	@$(SUMMARY) $(foreach module,$(PARSERS) $(OPERATORS),+ -C $(module) $(RUNS) ./...)

# What make test leaves out: every seed of the simulator, every state of the models, members of an etcd that die, a
# release and each of its packages installed; the page in a browser, where there is none.
test-long:
	@GANGRUN_TEST_LONG=1 $(SUMMARY) -tags model -timeout 120m ./rendezvous/... ./exitcodes/... ./test/checkpoint/... ./observe ./supervisor/hang ./test/hang ./test/page ./test/release/... \
	  + $(RUNS) -timeout 120m ./test/rounds ./test/examples/slurm ./test/observe ./test/run ./test/pid1 ./test/docs \
	  + $(RUNS) -timeout 60m -run 'TestPlanted|TestClock' ./test/chaos + $(RUNS) -timeout 60m ./test/leaks

# Jobs that are broken on purpose, as many as begin within MINUTES; SEED is the first one's, and JOBS how many. What goes
# wrong is tried again with fewer faults, for 10 minutes.
MINUTES ?= 10
SEED    ?= $(shell date +%s)
JOBS    ?= 0
chaos:
	$(GO) test $(RUNS) -v -timeout 0 -run '^TestChaos$$' ./test/chaos -chaos.seed $(SEED) -chaos.minutes $(MINUTES) -chaos.jobs $(JOBS) -chaos.shrink 10m

# Data races need the C compiler. On one processor: two that run timers of one synctest bubble at once share a state of
# the detector, which breaks it (golang/go#78156: a SIGSEGV in tsan's SlotLock, or "CHECK failed"). What it finds does
# not depend on what ran at once, but on what was ordered by nothing.
race:
	CGO_ENABLED=1 $(GO) test -race -short -cpu 1 -parallel 4 -timeout 20m $(UNITS)

# Counted, not timed: a time limit that ends while go's workers report to it is now and then taken for a failure
# ("context deadline exceeded"). This is about half a minute for each parser; FUZZTIME=100000x is a quick look. A package is
# built once for all its targets, which go test -fuzz does not do.
FUZZTIME ?= 1000000x
fuzz:
	@set -e; for package in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
	  binary=$(CURDIR)/bin/fuzz.test; $(GO) test -c -fuzz Fuzz -o "$$binary" $$package; cache=$$($(GO) env GOCACHE)/fuzz/$$($(GO) list $$package); \
	  for target in $$(cat $$package/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
	    echo "$$package $$target"; \
	    (cd $$package && "$$binary" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
	      -test.fuzzminimizetime 1x -test.fuzzcachedir "$$cache"); \
	  done; done

STATICCHECK := $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(STATICCHECK) ./...
	@set -e; for module in $(MODULES); do echo "$$module"; \
	  (cd $$module && $(GO) mod tidy -diff && $(GO) vet ./... && $(STATICCHECK) ./...); done

# Needs Go's vulnerability database.
vulncheck:
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

# Real torch, TensorFlow, other inits and a root file system for containers, once, into a cache.
peers:
	test/peers/install

bench:
	$(GO) run ./test/bench

clean:
	rm -rf bin dist
