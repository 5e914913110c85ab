# Two commands for newcomers: make demo, make test. The rest is listed by make help.

GO          ?= go
PREFIX      ?= /usr/local
BEFORE      ?=
FUZZTIME    ?= 20s
MUTANTS     ?= 12
SEED        ?= 1
DIST        ?= dist
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GROUP       ?=
MODULE      ?=
NAMES       ?=
PARTS       ?=
PACKETS     ?= 1000000
PLATFORMS   ?= linux/amd64 linux/arm64 linux/armv7 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64 freebsd/arm64
QSNIFF      ?= ./qsniff
QUIET       ?=
RATES       ?= 100000,200000,300000,0
ROUNDS      ?= 5
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# CGO is empty, or switches cgo off where libpcap cannot be built with: asked for when a
# recipe runs, after deps.
CGO = $(shell GO='$(GO)' sh internal/libpcap/setup usable || echo CGO_ENABLED=0)
TESTLOG = $(CGO) $(GO) run ./internal/tools/testlog
# FAST saves minutes of compiling and linking tests: make lint vets, and profiles and symbols for debuggers are for programs.
FAST = -vet=off -pgo=off -ldflags=-w
# QUICKLY compiles for systems on which nothing is run.
QUICKLY = -pgo=off -gcflags='all=-N -l'

.PHONY: nightly mutate help build hub install share demo page site test times test-all test-long test-live test-fleet test-monitor test-page race lint lint-macos golden docs pictures web bench bench-live profile fuzz release test-release cross typecheck notice vuln module-path clients record deps clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: deps ## build ./qsniff
	$(CGO) $(GO) build -buildvcs=auto -o qsniff ./cmd/qsniff

hub: deps ## build ./qsniff-hub, which brings together what a fleet of hosts tells
	CGO_ENABLED=0 $(GO) build -buildvcs=auto -o qsniff-hub ./cmd/qsniff-hub

install: build share ## install program, man pages and completions below PREFIX (after DESTDIR)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 qsniff $(DESTDIR)$(PREFIX)/bin/qsniff

# share installs man pages and completions: all but the program, which it runs.
share: $(if $(filter ./qsniff,$(QSNIFF)),build)
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	$(QSNIFF) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/qsniff
	$(QSNIFF) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_qsniff
	$(QSNIFF) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/qsniff.fish

demo: build ## decode captures of this repository
	./qsniff -o tree --utc pcapfiles/a2s/full-poll.pcap
	@echo "---- the same kind of traffic, a line a message: a GoldSource reply in two parts"
	./qsniff --utc pcapfiles/goldsource/rules-93.pcap
	@echo; echo "---- a flood: the verdict, then what to do"
	./qsniff floods --utc pcapfiles/floods/reflection.pcap

page: ## build page/: static files that decode captures in the browser that opens them, the program as WebAssembly among them
	$(GO) run ./internal/tools/webpage page

site: build page ## build site/: the manual as static pages with search, the output of every example, and page/ to try qsniff on
	$(GO) run ./internal/tools/site -program ./qsniff -try page site

# Four packages at a time: where others use the cores too, two would get too small a share. Eight tests of a package at a time: those that
# may run beside others wait more than they compute. GOGC and -w, because tests make tables and programs anew all the time: collections take
# a seventh of the CPU otherwise, and linking twice as long. make lint vets, which takes ten seconds of a first run.
test: deps ## all tests, in nine minutes of CPU where nothing was compiled before, half of that to compile; needs no network once modules are there, no root
	GOGC=400 $(TESTLOG) -short -p 4 -parallel 8 $(FAST) -timeout 10m ./...

times: deps ## make test, and how long the tests of each package took, of processors and by the clock
	GOGC=400 $(TESTLOG) -times -short -p 4 -parallel 8 $(FAST) -timeout 10m ./...

test-all: deps ## all tests with everything they can combine: captures x forms x goroutines, links x containers x compressions
	GOGC=400 $(TESTLOG) $(FAST) -timeout 1h ./...

test-long: deps ## what test-all has and make test has not: the tests that combine less in make test
	GOGC=400 $(TESTLOG) -long $(FAST) -timeout 1h

# Tests in other packages capture live in make test, too; with QUIET they run again for the limits that they hold then.
test-live: deps ## live captures and the kernel's filters, as root; QUIET=1 holds times against limits, on a machine that does nothing else
	QSNIFF_LIVE=1 QSNIFF_QUIET=$(QUIET) $(TESTLOG) -count 1 $(FAST) -timeout 10m ./cmd/qsniff -run Live
	QSNIFF_LIVE=1 QSNIFF_QUIET=$(QUIET) $(TESTLOG) -count 1 $(FAST) -timeout 10m ./capture/packet ./reassembly/ipfrag ./reassembly/tcpstream ./internal/test/nattest ./internal/test/contrib -run 'Live|NATKernel'
	[ -z '$(QUIET)' ] || QSNIFF_QUIET=$(QUIET) $(TESTLOG) -count 1 $(FAST) -timeout 10m ./capture/live ./internal/test/clients ./internal/flood/advice

test-fleet: deps ## two hundred hosts of a fleet, with all that can fail, a quarter of an hour; make test-all has sixty
	QSNIFF_FLEET=200 $(TESTLOG) -count 1 $(FAST) -timeout 1h ./internal/test/fleettest

test-monitor: deps ## qsniff monitor under a real Prometheus, which is skipped where none is installed
	QSNIFF_MONITOR=1 $(TESTLOG) -count 1 $(FAST) -timeout 10m ./cmd/qsniff -run Monitor
	QSNIFF_MONITOR=1 $(TESTLOG) -count 1 $(FAST) -timeout 10m ./internal/test/contrib -run Prometheus
	$(TESTLOG) -count 1 $(FAST) -timeout 10m ./internal/monitor/...

test-page: site ## the program as WebAssembly in Node, on every capture, and the pages and the manual in Chromium
	QSNIFF_PAGE=1 $(TESTLOG) -count 1 -timeout 15m ./cmd/qsniff -run Wasm
	sh internal/web/test/run

nightly: ## what takes too long for each change: race, every fuzz target for a minute, mutants, a fleet of 200 hosts, alerts, the page in Chromium, a release twice, under another path and in a clean Debian, all platforms
	$(MAKE) race
	$(MAKE) fuzz FUZZTIME=1m
	$(MAKE) mutate
	$(MAKE) test-fleet
	$(MAKE) test-monitor
	$(MAKE) test-page
	$(MAKE) test-release PARTS='reproducible moved debian' PLATFORMS=linux/$$($(GO) env GOARCH)
	$(MAKE) lint-macos cross
	$(MAKE) vuln

race: deps ## the tests of make test under the race detector
	$(TESTLOG) -short -race -pgo=off -timeout 30m ./...

# It is compiled with the flags of make test: another profile or flag compiles six hundred packages anew.
lint: deps ## go vet, gofmt, staticcheck
	$(CGO) $(GO) vet -pgo=off ./...
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(CGO) GOFLAGS="$$($(GO) env GOFLAGS) -pgo=off" $(GO) run $(STATICCHECK) ./...

lint-macos: ## go vet as for macOS: the tests have to compile there
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet $(QUICKLY) ./...

golden: deps ## write the captures from their sources, and what qsniff makes of them; GROUP=a2s: those of one folder, in seconds
	$(GO) run ./internal/tools/mkpcap golden pcapfiles/$(GROUP)
	$(CGO) $(GO) test ./cmd/qsniff -run 'TestGolden$(if $(GROUP),/^$(GROUP)$$)' -update
	$(CGO) $(GO) test ./dissect/protocols -update
	$(CGO) $(GO) test ./internal/pipeline -run TestSightsOfCaptures -update

docs: deps pictures ## write the manual (docs/man/, docs/), and the pictures and rows of protocols of the README
	$(CGO) $(GO) test ./cmd/qsniff ./cmd/qsniff-hub -run TestDocs -update

pictures: deps ## write docs/img from what qsniff prints
	$(CGO) $(GO) test ./cmd/qsniff -run TestPictures -update

web: ## build the front end of reports (internal/web) into internal/render/html/dist; takes npm
	cd internal/web && npm ci --silent && npm run --silent build

fuzz: deps ## every fuzz target for FUZZTIME each, as 1m, or 20x for 20 inputs, which takes two minutes for all
	GO='$(GO)' $(CGO) sh internal/tools/fuzz $(FUZZTIME)

mutate: deps ## change sources in MUTANTS places of each of five folders, one at a time, chosen by SEED, and print which changes no test notices; an hour
	$(CGO) $(GO) run ./internal/tools/mutate -n $(MUTANTS) -seed $(SEED)

bench: build ## measure qsniff beside tcpdump, jq, tshark and gopacket, write BENCHMARKS.md; half an hour; GROUP=json: print one part; BEFORE=DIR: stages of another version, too
	$(CGO) $(GO) run ./internal/tools/bench -n $(PACKETS) -rounds $(ROUNDS) -group '$(GROUP)' -before '$(BEFORE)'

profile: deps ## make cmd/qsniff/default.pgo anew: the profile by which go build optimises the program
	@d=$$(mktemp -d) && trap 'rm -r $$d' EXIT && $(GO) run ./internal/tools/mkpcap mix -n 300000 -o $$d/mix.pcap && $(GO) run ./internal/tools/mkpcap flood -n 2000000 -o $$d/flood.pcap && \
	QSNIFF_CAPTURES=$$d $(CGO) $(GO) test -trimpath ./cmd/qsniff -run '^$$' -bench Commands -benchtime 3x -o $$d/qsniff.test -cpuprofile $(CURDIR)/cmd/qsniff/default.pgo

bench-live: build ## replay captures at rising RATES beside tcpdump; takes root and tcpreplay
	$(CGO) $(GO) test ./cmd/qsniff -run TestLiveRate -v -count 1 -timeout 3h -rates $(RATES)

release: ## build what a release consists of into DIST, for PLATFORMS: archives, packages, bills of materials, checksums; SIGNING_KEY=KEY: signed
	GO='$(GO)' SIGNING_KEY='$(SIGNING_KEY)' sh internal/tools/release '$(DIST)' $(PLATFORMS)

test-release: ## make release for PLATFORMS twice, which must give the same bytes, and install and run what came of it, in roots made for it; as root, for a minute a platform, two for a clean Debian; PARTS=moved: one part
	GO='$(GO)' PLATFORMS='$(PLATFORMS)' PARTS='$(PARTS)' sh internal/test/release

cross: ## whether the programs can be built for PLATFORMS
	for p in $(PLATFORMS); do for c in qsniff qsniff-hub; do CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$$(basename $$p v7) $(GO) build $(QUICKLY) -ldflags=-w -o /dev/null ./cmd/$$c || exit 1; done; done

typecheck: ## whether all of it would compile on macOS and FreeBSD, tests included, and the programs on the other platforms: in a minute, and without compiling
	$(GO) run ./internal/tools/typecheck darwin/arm64 freebsd/amd64 windows/amd64:programs linux/arm64:programs linux/armv7:programs

notice: ## write NOTICE: the modules that are built in, and their licences
	$(GO) run ./internal/tools/modules notice > NOTICE.new && mv NOTICE.new NOTICE

vuln: ## look up known vulnerabilities of what is called; takes the network
	$(GO) run $(GOVULNCHECK) ./cmd/qsniff ./cmd/qsniff-hub

# Names of packages in Go sources begin with the path of the module and the name of a folder.
module-path: ## change the path of the module to MODULE, in go.mod and all sources
	@[ -n '$(MODULE)' ] || { echo "make module-path MODULE=example.org/qsniff"; exit 2; }
	old=$$($(GO) list -m) dirs=$$(git ls-files '*.go' | grep / | cut -d / -f 1 | sort -u | paste -s -d '|') && \
	git ls-files '*.go' | xargs sed -i -E "s,([\" ])$$old/(($$dirs)[/\"\\]|\"),\1$(MODULE)/\2,g; s,^(\tmodule +=) \"$$old\",\1 \"$(MODULE)\"," && \
	$(GO) mod edit -module '$(MODULE)' && gofmt -w $$(git ls-files '*.go')

clients: ## install the query clients that a test compares with
	sh internal/test/install-clients

record: ## record pcapfiles/recorded anew: other people's clients and servers, in a network namespace; as root, with a network to install them; ten minutes
	GO='$(GO)' sh internal/test/recorded/record $(NAMES)

# Where pcap.h is missing it is installed if that takes no password, else the build goes
# on without. No other target but clients installs anything.
deps:
	@v=$$($(GO) env GOVERSION 2>/dev/null) || { echo "go is not installed: https://go.dev/doc/install"; exit 1; }; \
	case "$$v" in go1.[0-9]|go1.[0-9].*|go1.1[0-9]|go1.1[0-9].*|go1.20|go1.20.*) \
	  echo "$$v is too old to fetch the toolchain that go.mod names: install Go 1.21 or later"; exit 1;; esac
	@GO='$(GO)' sh internal/libpcap/setup get

clean: ## remove what was built
	rm -rf qsniff qsniff-hub page site $(DIST)
