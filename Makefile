# zinc: the commands a developer needs. `make help` lists them.
# build, test and demo need Go and nothing else; help, bench and fuzz-smoke also
# use awk, conformance uses python3, and lint fetches staticcheck when it first
# runs.

GO        ?= go
OUT       ?= dist
FUZZTIME  ?= 20s
# Fuzz targets that run at a time, and the workers of each.
FUZZJOBS  ?= 2
FUZZWORKERS ?= 1
BENCH     ?= .
BENCHARGS ?=
TESTARGS  ?=
# More arguments for score.py, such as --with-assumed or --op conv.
CONFARGS  ?=
# The folder of shared test material, which is not part of the repository.
SHARED    ?= $(or $(ZINC_SHARED),../shared)
# Test images that `make demo` shows.
DIGITS    ?= 2 5 8

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
EXAMPLE     := examples/digits

.PHONY: help build man test conformance bench browser-test demo lint gofmt vet staticcheck fuzz-smoke ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

build: ## build bin/zinc
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/zinc ./cmd/zinc

man: build ## write the manual pages to dist/man1
	bin/zinc man $(OUT)/man1

test: ## run every test
	$(GO) test $(TESTARGS) ./...

conformance: build ## run the cases of ../shared/conformance on the interpreter, each a run of bin/zinc
	@if [ ! -d "$(SHARED)/conformance/cases" ]; then \
		echo "conformance: skipped, $(SHARED)/conformance is absent (ZINC_SHARED names another folder)"; \
	elif ! command -v python3 >/dev/null 2>&1; then \
		echo "conformance: no python3, so the cases run in one process"; \
		ZINC_SHARED="$(abspath $(SHARED))" $(GO) test -count=1 -v -run '^TestConformance$$' ./runtime/sim/interp; \
	else \
		mkdir -p $(OUT) && python3 "$(SHARED)/conformance/_tools/score.py" \
			'$(CURDIR)/bin/zinc run {dir}/model.mil --engine interp --numerics ieee {inputs} {outputs}' \
			--list --json $(OUT)/conformance.json $(CONFARGS) && \
		python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["percent"] < 98 and "conformance: under 98 %")' $(OUT)/conformance.json; \
	fi

bench: ## run the benchmarks; then each one's speed over the first of its group
	@mkdir -p $(OUT)
	@{ $(GO) test -run '^$$' -bench '$(BENCH)' $(BENCHARGS) ./...; echo $$? >$(OUT)/bench.status; } | tee $(OUT)/bench.txt; \
	exit $$(cat $(OUT)/bench.status)
	@awk -f .ci/ratios.awk $(OUT)/bench.txt

browser-test: ## open the explorer in headless Chromium, which it installs where it can
	@explore/browsertest/run

demo: build ## compile the bundled digit classifier and run it on test images
	@mkdir -p $(OUT)
	bin/zinc $(EXAMPLE)/digits.mlmodelc -o $(OUT)/digits.hwx
	@set -e; for n in $(DIGITS); do \
		echo "bin/zinc run $(OUT)/digits.hwx --input image=$(EXAMPLE)/testdata/$$n.npy --output probs=$(OUT)/$$n.npy"; \
		bin/zinc run $(OUT)/digits.hwx --input image=$(EXAMPLE)/testdata/$$n.npy --output probs=$(OUT)/$$n.npy; \
		$(GO) run ./$(EXAMPLE)/show $(EXAMPLE)/testdata/$$n.npy $(OUT)/$$n.npy; \
	done

lint: gofmt vet staticcheck ## check the format, vet and staticcheck

gofmt:
	@bad=$$($$($(GO) env GOROOT)/bin/gofmt -l .) || exit 1; \
	if [ -n "$$bad" ]; then echo "not formatted (run gofmt -w):"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) run $(STATICCHECK) ./...

# A target whose last input is cut off by the end of FUZZTIME fails with no failing
# input, which is the go command's doing: it is run again.
fuzz-smoke: ## run every fuzz target for FUZZTIME, FUZZJOBS at a time
	@mkdir -p $(OUT)
	@list=$$($(GO) test -list '^Fuzz' ./...) || { echo "$$list"; exit 1; }; \
	targets=$$(echo "$$list" | awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 ":" name[i]; n = 0 }'); \
	if [ -z "$$targets" ]; then echo "no fuzz target found"; exit 1; fi; \
	echo "$$targets" | xargs -P $(FUZZJOBS) -I '{}' sh -c ' \
		t={}; out=$$(mktemp $(OUT)/fuzz.XXXXXX); \
		fuzz() { $(GO) test -run "^$$" -fuzz "^$${t##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel $(FUZZWORKERS) "$${t%:*}" >$$out 2>&1; }; \
		fuzz; status=$$?; \
		if [ $$status -ne 0 ] && grep -q "context deadline exceeded" $$out && ! grep -q "Failing input" $$out; then fuzz; status=$$?; fi; \
		echo "$${t##*:} in $${t%:*}, $(FUZZTIME): $$(tail -n 1 $$out)"; \
		if [ $$status -ne 0 ]; then cat $$out; fi; rm -f $$out; exit $$status'

ci: ## do what continuous integration does
	.ci/run

clean: ## remove what the other targets made
	rm -rf bin $(OUT)
