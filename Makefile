# zinc: the commands a developer needs. `make help` lists them.
# build, test and demo need Go and nothing else; help, bench and fuzz-smoke also
# use awk, conformance and wheel use python3, and lint fetches staticcheck when it first
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
# Bound on the tests of one package, which stops tests that hang. It is far above what they take on a busy machine.
TIMEOUT   ?= 4h
# More arguments for score.py, such as --with-assumed or --op conv.
CONFARGS  ?=
# Programs that `make random` generates, and the number of the first one.
N         ?= 20000
FIRST     ?= 0
# Mutations that `make mutants` tries, and further flags (internal/test/mutants/mutate lists them).
MUTANTS   ?= 2000
MUTARGS   ?= -floor 98
# Pattern of the places, texts or files of the facts whose mutants are run.
FACTS     ?= .
# Seeds of the inputs that make corpus verifies each model with.
SEEDS     ?= 1 2 3 4 5
# An older program that make performance measures too.
BEFORE    ?=
# The folder of shared test material, which is not part of the repository.
SHARED    ?= $(or $(ZINC_SHARED),../shared)
# Platforms that zinc is built for.
PLATFORMS ?= linux/amd64 linux/arm64 linux/386 linux/arm darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 js/wasm
# A Python with numpy; python-test also takes pytest, and mypy where it is there.
PYTHON    ?= $(shell for p in python3 /usr/bin/python3; do $$p -c 'import numpy' 2>/dev/null && echo $$p && exit; done)
# Platforms that a release is built for at a time.
RELEASEJOBS ?= 2
# Test images that `make demo` shows.
DIGITS    ?= 2 5 8

GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.15.1
CYCLONEDX   := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
EXAMPLE     := examples/digits

.PHONY: help build man test test-short test-long platforms conformance conformance-engine corpus random nightly
.PHONY: scaling exhaustive fact-mutants code-mutants mutants operation pass bench performance
.PHONY: web browser-test picture demo wheel python-test release-files snapshot image
.PHONY: lint style literals gofmt vet staticcheck fuzz-smoke fuzz-table race hostile ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

build: ## build bin/zinc
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/zinc ./cmd/zinc

man: build ## write the manual pages to dist/man1
	bin/zinc man $(OUT)/man1

test: ## run every test, those of long tables on a part of them; without go vet, which make lint runs
	@$(GO) test -json -vet=off -timeout $(TIMEOUT) $(TESTARGS) ./... | $(GO) run ./.ci/testsummary

test-short: ## run a sample of the tests, for use between edits
	@$(MAKE) -s test TESTARGS="-short $(TESTARGS)"

test-long: ## run every test on all that it has: hours
	@ZINC_TESTS=long $(MAKE) -s test

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
		python3 -c 'import json, sys; p = json.load(open(sys.argv[1]))["percent"]; \
			sys.exit(p < 98 and "conformance: under 98 %")' $(OUT)/conformance.json; \
	fi

conformance-engine: ## run them on the simulated engine, in fp16; list what is not wholly on it, with the verdict
	@if [ ! -d "$(SHARED)/conformance/cases" ]; then \
		echo "conformance-engine: skipped, $(SHARED)/conformance is absent (ZINC_SHARED names another folder)"; \
	else \
		ZINC_SHARED="$(abspath $(SHARED))" $(GO) test -count=1 -v -run '^TestConformanceOnTheEngine$$' \
			./analysis/verify; \
	fi

corpus: build ## verify every real model through the whole stack with SEEDS; CI runs the small ones with seed 1
	@if [ ! -d "$(SHARED)/corpus" ]; then \
		echo "corpus: skipped, $(SHARED)/corpus is absent (ZINC_SHARED names another folder)"; \
	else \
		ALL=1 SEEDS="$(SEEDS)" .ci/corpus "$(SHARED)"; \
	fi

random: ## compile N generated programs, judge each, and print what they reached (RANDOMARGS='-random.target h14')
	$(GO) test -count=1 -timeout 0 -v -run '^TestRandomPrograms$$' ./internal/test/difftest \
		-random.n $(N) -random.first $(FIRST) $(RANDOMARGS)

operation: ## write the generated pages, and run the tests that report what a new operation lacks
	$(GO) generate ./docs
	$(GO) test ./ir ./layout/weights ./runtime/sim/interp ./runtime/sim/exact ./lower ./passes ./analysis/lint ./docs \
		./internal/test/irgen
	$(GO) test -run CurvesOnEvery ./runtime/sim

pass: ## write the generated pages, run the tests of the passes, and judge 1,000 generated programs
	$(GO) generate ./docs
	$(GO) test ./passes ./docs
	@$(MAKE) -s random N=1000

nightly: platforms test-long ## run what takes hours: every form of the tests, programs, mutants, fuzzing, real models
	@$(MAKE) -s random N=200000 FIRST=$$(( $$(date +%s) / 86400 * 1000000 ))
	@$(MAKE) -s mutants
	@$(MAKE) -s race hostile
	@ZINC_TESTS=long $(MAKE) -s browser-test
	@$(MAKE) -s fuzz-smoke FUZZTIME=10m
	@$(MAKE) -s corpus

platforms: ## build for every platform, and vet with 32-bit ints and for Windows
	CGO_ENABLED=0 GOOS=linux GOARCH=386 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./...
	@set -e; for p in $(PLATFORMS); do \
		echo "$$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./...; \
	done

exhaustive: ## compare functions of one fp16 number, and arithmetic on two, with exact values on all numbers: hours
	$(GO) test -count=1 -timeout 0 -run 'CurvesOnEvery|PairsOfFP16' ./runtime/sim -exhaustive

fact-mutants: ## run the scripts of the chapters' facts under the mutants that they name (FACTS='Table 29')
	@$(GO) build -o $(OUT)/mutate ./internal/test/mutants/mutate
	$(OUT)/mutate -facts -dir $(OUT)/mutants -match '$(FACTS)'

code-mutants: ## make MUTANTS single mutations of compiler and simulator; report what finds them
	@$(GO) build -o $(OUT)/mutate ./internal/test/mutants/mutate
	$(OUT)/mutate -n $(MUTANTS) -dir $(OUT)/mutants $(MUTARGS)

mutants: fact-mutants code-mutants ## both

bench: ## run the benchmarks; then each one's speed over the first of its group
	@mkdir -p $(OUT)
	@{ $(GO) test -run '^$$' -bench '$(BENCH)' $(BENCHARGS) ./...; echo $$? >$(OUT)/bench.status; } | \
		tee $(OUT)/bench.txt; \
	exit $$(cat $(OUT)/bench.status)
	@awk -f .ci/ratios.awk $(OUT)/bench.txt

performance: build ## measure large models against cp; write docs/performance.md (BEFORE=an older zinc, for its columns)
	@if [ ! -d "$(SHARED)/tools" ]; then \
		echo "performance: skipped, $(SHARED)/tools is absent (ZINC_SHARED names another folder)"; \
	else \
		$(GO) run ./.ci/perf -zinc bin/zinc -before "$(BEFORE)" -shared "$(SHARED)" -o docs/performance.md; \
	fi

scaling: build ## print how time and memory of each command grow with a model (SCALEARGS='-only diff')
	$(GO) run ./.ci/perf -scaling -zinc bin/zinc $(SCALEARGS)

web: ## write the page that runs zinc in a browser to dist/web, and print the sizes of its programs
	@GO=$(GO) inspect/web/build $(OUT)/web

browser-test: web ## open the explorer and the page in headless Chromium, which it installs where it can
	@inspect/explore/browsertest/run

wheel: ## write the Python wheels of six platforms and the source distribution to dist/python
	$(or $(PYTHON),python3) python/zinc_build.py $(OUT)/python

python-test: build ## test the Python package on bin/zinc (COREMLTOOLS names a checkout of the real converter)
	@if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c 'import pytest' 2>/dev/null; then \
		echo "python-test: skipped, no Python has numpy and pytest (PYTHON names one)"; \
	else \
		cd python && ZINC='$(CURDIR)/bin/zinc' PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=. \
			$(PYTHON) -m pytest -q -rs -p no:cacheprovider && \
		if $(PYTHON) -c 'import mypy' 2>/dev/null; then $(PYTHON) -m mypy --cache-dir=/dev/null; fi; \
	fi

release-files: build ## write the completions and the manual pages that a release has, to bin
	@mkdir -p bin/completions && rm -rf bin/man1
	@bin/zinc completion bash >bin/completions/zinc.bash
	@bin/zinc completion zsh >bin/completions/_zinc
	@bin/zinc completion fish >bin/completions/zinc.fish
	@bin/zinc completion powershell >bin/completions/zinc.ps1
	@bin/zinc man bin/man1

snapshot: ## build the release of this commit to dist/release, with its image where buildah is installed
	@GOBIN='$(CURDIR)/bin/tools' $(GO) install -trimpath $(CYCLONEDX)
	PATH="$(CURDIR)/bin/tools:$$PATH" \
		ZINC_VERSION="$$(sed -n 's/^const Version = "\(.*\)"/\1/p' compile/compile.go)" \
		$(GO) run $(GORELEASER) release --snapshot --clean --skip=docker --parallelism $(RELEASEJOBS)
	@$(MAKE) -s image

# The image that a release publishes, from the same Dockerfile. buildah needs no daemon, and nothing runs in the image.
BUILDAH = buildah --root '$(CURDIR)/$(OUT)/image/root' --runroot '$(CURDIR)/$(OUT)/image/run' --storage-driver vfs
image: ## write the image of dist/release beside it, for both platforms in one OCI archive
	@if ! command -v buildah >/dev/null; then \
		echo "image: skipped, there is no buildah"; \
	else \
		set -e; rm -rf $(OUT)/image $(OUT)/release/zinc_image.tar; \
		for arch in amd64 arm64; do \
			mkdir -p $(OUT)/image/linux/$$arch; \
			cp $(OUT)/release/zinc_linux_$${arch}_*/zinc $(OUT)/image/linux/$$arch/; \
		done; \
		at=$$(git log -1 --format=%ct); \
		$(BUILDAH) bud --quiet --isolation chroot --platform linux/amd64,linux/arm64 --timestamp $$at --manifest zinc \
			-f Dockerfile $(OUT)/image >/dev/null; \
		$(BUILDAH) manifest push --quiet --all zinc oci:$(OUT)/image/oci >/dev/null; \
		tar -C $(OUT)/image/oci --sort=name --mtime=@$$at --owner=0 --group=0 --numeric-owner \
			-cf $(OUT)/release/zinc_image.tar .; \
		rm -rf $(OUT)/image; sha256sum $(OUT)/release/zinc_image.tar; \
	fi

MODEL ?= $(EXAMPLE)/digits.mlmodelc
CHROMIUM ?= chromium
picture: build ## write docs/report.png, the HTML report of MODEL in headless Chromium
	@mkdir -p $(OUT)
	cd $(dir $(MODEL)) && $(CURDIR)/bin/zinc check $(notdir $(MODEL)) \
		--report html=$(CURDIR)/$(OUT)/report.html >/dev/null
	$(CHROMIUM) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1240 \
		--blink-settings=preferredColorScheme=1 --screenshot=docs/report.png file://$(CURDIR)/$(OUT)/report.html

demo: build ## compile the bundled digit classifier and run it on test images
	@mkdir -p $(OUT)
	bin/zinc $(EXAMPLE)/digits.mlmodelc -o $(OUT)/digits.hwx
	@set -e; for n in $(DIGITS); do \
		echo "bin/zinc run $(OUT)/digits.hwx --input image=$(EXAMPLE)/testdata/$$n.npy --output probs=$(OUT)/$$n.npy"; \
		bin/zinc run $(OUT)/digits.hwx --input image=$(EXAMPLE)/testdata/$$n.npy --output probs=$(OUT)/$$n.npy; \
		$(GO) run ./$(EXAMPLE)/show $(EXAMPLE)/testdata/$$n.npy $(OUT)/$$n.npy; \
	done

lint: ## check format, width of lines, vet, keyed literals and staticcheck, and end with what failed
	@failed=; for check in style vet literals staticcheck; do \
		echo "== $$check"; $(MAKE) -s $$check || failed="$$failed $$check"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

gofmt:
	@bad=$$($$($(GO) env GOROOT)/bin/gofmt -l .) || exit 1; \
	if [ -n "$$bad" ]; then echo "not formatted (run gofmt -w):"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...

style: gofmt ## check format and width of lines, in seconds
	@$(GO) test -run Lines ./internal/walls

literals:
	ZINC_TESTS=long $(GO) test -run 'Literals|Parameters' ./internal/walls

staticcheck:
	$(GO) run $(STATICCHECK) ./...

fuzz-smoke: ## run every fuzz target for FUZZTIME, FUZZJOBS at a time
	@FUZZTIME=$(FUZZTIME) FUZZJOBS=$(FUZZJOBS) FUZZWORKERS=$(FUZZWORKERS) .ci/fuzz

fuzz-table: ## print the executions of every fuzz target in FUZZTIME, fewest first
	@mkdir -p $(OUT); FUZZTIME=$(FUZZTIME) FUZZJOBS=$(FUZZJOBS) FUZZWORKERS=$(FUZZWORKERS) .ci/fuzz >$(OUT)/fuzz.txt; \
		status=$$?; sort -n $(OUT)/fuzz.txt; exit $$status

race: ## run the race detector on the packages that start goroutines
	@GO=$(GO) .ci/race

hostile: build ## run every command on hostile files in a small address space
	.ci/hostile

ci: ## do what continuous integration does
	.ci/run

clean: ## remove what the other targets made
	rm -rf bin $(OUT)
