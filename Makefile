# make run    builds `oarlock enc`, does the main job: encrypts a real file, compared with openssl; then builds the rest
# make test   everything CI runs; make test-long and make test-packages are run before a release
# make bench  compares ciphers, signatures and every peer on this machine, in the short form
# make provider, make build, make install, make uninstall, make package, make wheel, make dist: for this machine, or for others

.DEFAULT_GOAL := help
.PHONY: help run provider build install uninstall package wheel dist bench test test-long test-packages

# Where rustup puts cargo, for shells that did not read the profile.
export PATH := $(PATH):$(HOME)/.cargo/bin

# Where `make install` puts everything: below $(DESTDIR)$(PREFIX).
PREFIX ?= /usr/local
# The command without features; the other package is not compiled (crates/cli/features/src/lib.rs).
FIRST = --package oarlock-cli --no-default-features --package oarlock-cli-features --bin oarlock
# What `make bench` measures.
ARGS ?= --quick
export PREFIX DESTDIR

help:
	@echo 'make run              build `oarlock enc`, encrypt a file with it and with openssl, compare bytes and'
	@echo '                      speeds, then build the whole command and run a short benchmark'
	@echo 'make run FILE=PATH    the same with your own file of at least 256 MiB'
	@echo 'make provider         the OpenSSL provider alone'
	@echo 'make build            a release of the command, the provider and the C library, then'
	@echo 'make install          puts them, manual pages, completions, systemd units and the documentation'
	@echo '                      below PREFIX=/usr/local (and DESTDIR); make uninstall removes them'
	@echo 'make package          a Debian package of the same'
	@echo 'make wheel            the Python package, with the command, the provider and the C library'
	@echo 'make dist             what a release publishes: wheel, source, tarball, Debian package, licenses, sums'
	@echo 'make bench            compare every cipher and public-key operation with every peer, in short;'
	@echo "make bench ARGS=--help the same with other options"
	@echo 'make test             everything CI runs: 16 to 27 minutes on two cores from nothing, by the age of the CPU'
	@echo 'make test-long        that, the exchange with rage, more rounds, the benchmark, fuzzing: up to an hour'
	@echo "make test-packages    the tests of Debian's own packages without and with the provider: hours, as root"

run:
	@scripts/system-packages run
	@echo 'building `oarlock enc`: 3 minutes on two cores the first time, seconds after that'
	@cargo build --release --locked $(FIRST)
	@scripts/main-job
	@echo 'building the rest of the command: as long again'
	@cargo build --release --locked --package oarlock-cli
	@"$${CARGO_TARGET_DIR:-target}/release/oarlock" bench --quick

provider:
	@scripts/system-packages run
	@cargo build --release --locked --package oarlock-provider

build:
	@scripts/system-packages run
	@cargo build --release --locked --package oarlock-cli --package oarlock-provider --package oarlock-pkcs11 --package oarlock-capi
	@folder="$${CARGO_TARGET_DIR:-target}/release"; crates/capi/link.sh "$$folder/liboarlock_capi.a" "$$folder"

install uninstall:
	@scripts/install $@

package: build
	@scripts/debian-package

wheel:
	@scripts/system-packages wheel
	@cargo xtask wheel

dist:
	@scripts/system-packages dist
	@cargo xtask dist

# Its own workspace, below bench/; `cargo xtask peers` builds more peers.
bench:
	@cargo build --release --locked --manifest-path bench/Cargo.toml
	@"$${CARGO_TARGET_DIR:-target}/release/oarlock-bench" $(ARGS)

# The list of steps is in xtask/src/ci.rs.
test:
	@scripts/system-packages test
	@cargo xtask ci

test-long:
	@scripts/system-packages test
	@cargo xtask ci --long

# The list of packages is xtask/src/packages/packages.json; PACKAGES='curl nginx' runs those alone.
test-packages:
	@scripts/system-packages packages
	@cargo xtask packages $(PACKAGES)
