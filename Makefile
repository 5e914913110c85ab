# Two commands for newcomers: make demo, make test. The rest is listed by make help.

GO          ?= go
PREFIX      ?= /usr/local
FUZZTIME    ?= 20s
PACKETS     ?= 1000000
RATES       ?= 100000,200000,300000,0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build install demo test race lint golden docs pictures bench bench-live fuzz clients deps clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: deps ## build ./qsniff
	$(GO) build -buildvcs=auto -o qsniff ./cmd/qsniff

install: build ## install program, man pages and completions below PREFIX (with DESTDIR in front)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 qsniff $(DESTDIR)$(PREFIX)/bin/qsniff
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	./qsniff completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/qsniff
	./qsniff completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_qsniff
	./qsniff completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/qsniff.fish

demo: build ## decode captures of this repository
	./qsniff -o tree --utc pcapfiles/a2s/full-poll.pcap
	@echo "---- the same kind of traffic, a line a message: a GoldSource reply in two parts"
	./qsniff --utc pcapfiles/goldsource/rules-93.pcap
	@echo; echo "---- a flood: the verdict, then what to do"
	./qsniff floods --utc pcapfiles/floods/spoofed.pcap

test: deps ## all tests; needs no network once modules are there, no root
	$(GO) test ./...

race: deps ## all tests under the race detector
	$(GO) test -race ./...

lint: deps ## go vet, gofmt, staticcheck
	$(GO) vet ./...
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(GO) run $(STATICCHECK) ./...

golden: build ## write the captures from their sources, and what qsniff makes of them
	$(GO) run ./internal/mkpcap golden pcapfiles
	$(GO) test ./cmd/qsniff -run TestGolden -update

docs: deps pictures ## write the manual and the pictures of the README: man/, docs/
	$(GO) test ./cmd/qsniff -run TestDocs -update

pictures: deps ## write docs/img from what qsniff prints
	$(GO) test ./cmd/qsniff -run TestPictures -update

fuzz: deps ## every fuzz target for FUZZTIME each
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test $$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) || exit 1; \
	  done; \
	done

bench: build ## measure qsniff beside tcpdump and tshark, write BENCHMARKS.md
	$(GO) run ./internal/bench -n $(PACKETS)

bench-live: build ## replay captures at rising RATES beside tcpdump; takes root and tcpreplay
	$(GO) test ./cmd/qsniff -run TestLiveRate -v -count 1 -timeout 3h -rates $(RATES)

clients: ## install the query clients that a test compares with
	sh internal/install-clients

# libpcap's headers are needed where cgo is on. No other target but clients installs
# anything.
deps:
	@v=$$($(GO) env GOVERSION 2>/dev/null) || { echo "go is not installed: https://go.dev/doc/install"; exit 1; }; \
	case "$$v" in go1.[0-9]|go1.[0-9].*|go1.1[0-9]|go1.1[0-9].*|go1.20|go1.20.*) \
	  echo "$$v is too old to fetch the toolchain that go.mod names: install Go 1.21 or later"; exit 1;; esac
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && ! echo '#include <pcap.h>' | $${CC:-cc} -E - >/dev/null 2>&1; then \
	  sh internal/install-libpcap; \
	fi

clean: ## remove what was built
	rm -f qsniff
