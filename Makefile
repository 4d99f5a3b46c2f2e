# SPDX-License-Identifier: MIT
# Entry point of all tasks. Every target does its own set-up (SIDRA_SETUP=skip disables it) and works from a fresh clone.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
SHELL := /bin/bash

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
# What `make check-long` runs and `make check-build` builds, as scripts/check.sh names it.
check-long: PARTS ?= release-long,asan-long,tsan-long,aarch64-long,selftest,matrix,debug,fail-nth,fuzz,packages,intree,python-long
check-build: PARTS ?= release,asan,tsan,aarch64-long,kmod,vm,selftest,matrix,debug,fail-nth,fuzz,python
comma := ,
export JOBS SENTENCE

SETUP := scripts/setup.sh
BUILD := cmake --build

# ---- Targets for people ----------------------------------------------------------------------------------------------

.PHONY: help demo sentence check check-long check-build check-fresh kmod-check kmod-intree fuzz qemu vm vm-check vm-matrix vm-check-debug vm-fail-nth vm-jitter vm-fuzz vm-coverage driver-figures debug-kernel vm-bench vm-packages bench bench-engine-torch compiler conformance bench-compiler python demo-torch bench-torch python-check torch-suites vm-torch format lint install packages clean setup
help: ## this list
	@echo "SIDRA: driver stack of a memristor-crossbar AI accelerator"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  variables: JOBS=$(JOBS)  PREFIX=$(PREFIX)  DESTDIR=$(DESTDIR)"
	@echo "  of the VM: SMP=2  IOMMU=on|off  DEVICES=1  KERNEL=debug  GDB=1  and more: docs/vm.md"

demo: ## recognise handwritten digits on the chip model, and draw some of them
	@$(SETUP) base
	@$(MAKE) build/release/build.ninja
	@$(BUILD) build/release -j $(JOBS) --target sidra-demo
	@build/release/libsidra/examples/sidra-demo --out build/digits.svg --plot build/digits-accurate.svg $(DEMO_FLAGS)

sentence: ## find sentences that mean the same, with an encoder on the chip model: SENTENCE="..."; fetches 84 MB once
	@$(SETUP) base network
	@$(MAKE) build/release/build.ninja
	@$(BUILD) build/release -j $(JOBS) --target sidra-demo
	@libsidra/examples/sentence/convert.py >/dev/null
	@build/release/libsidra/examples/sidra-demo sentence $(if $(SENTENCE),"$$SENTENCE")

check: ## the checks before each commit: the tests in release, with ASan + UBSan and TSan, the kernel module's builds, the tests in the VM, the Python packages
	@$(SETUP) base check compiler kubernetes qemu torch vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh check release asan tsan kmod vm python

check-long: ## the longer checks: the other tests of the build trees, those of the arithmetic for AArch64, the VM's harness, its matrix, the debug kernel, failing allocations, the fuzzers, the packages, PyTorch
	@$(SETUP) base aarch64 check compiler fuzz kubernetes network qemu torch vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh check-long $(subst $(comma), ,$(PARTS))

check-build: ## build everything that check and check-long run, and run nothing
	@$(SETUP) base aarch64 check compiler fuzz kubernetes network qemu torch vm
	@scripts/qemu.sh build >/dev/null
	@BUILD_ONLY=1 scripts/check.sh check-build $(subst $(comma), ,$(PARTS))

check-fresh: ## build the demo and the tests in minimal Debian 12 and 13 roots, which detects packages that a target does not install
	@$(SETUP) vm
	@scripts/check-fresh.sh

kmod-check: ## build the kernel module for the kernels of Debian 12 and 13, their backports and sid, with W=1, sparse, checkpatch, kernel-doc and an analysis of locks (SMATCH=REPOSITORY: and smatch)
	@$(SETUP) vm
	@scripts/check.sh kmod-check kmod

kmod-intree: ## write the driver as a series of patches for a kernel tree, and compile it there; TREE=DIR: only write it, for that tree
	@$(SETUP) vm
	@scripts/kmod-intree.sh $(TREE)

fuzz: ## run each fuzz target for SECONDS=n (default 60) seconds: tests/fuzz/README.md
	@$(SETUP) base compiler fuzz
	@$(MAKE) build/fuzz/build.ninja
	@cmake build/fuzz -DSIDRA_COMPILER=ON >build/fuzz.configure.log || { cat build/fuzz.configure.log; exit 1; }
	@$(BUILD) build/fuzz -j $(JOBS) --target sidra-fuzz -- --quiet
	@scripts/fuzz.sh $(or $(SECONDS),60)

vm: ## a shell in a VM with the card, the driver loaded and the tools in PATH (GDB=1: stopped, for a debugger)
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/vm/build.sh
	@scripts/vm/run.py $(if $(GDB),--gdb)

vm-check: ## run the tests that need the driver in a VM
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh vm-check vm

vm-matrix: ## run those tests, and those of errors, with 1, 2 and 4 CPUs, with and without an IOMMU (CHECK=full: each with both)
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh vm-matrix matrix

vm-check-debug: ## run the tests of vm-matrix on a kernel with KASAN, lockdep and other checks, without and with an IOMMU
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh vm-check-debug debug

vm-fail-nth: ## fail each allocation and user copy of the driver in turn, on the debug kernel
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh vm-fail-nth fail-nth

vm-jitter: ## run the tests in the VM with random delays of up to 40 ms in the driver, the guest and the card
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh vm-jitter jitter

vm-fuzz: ## fuzz the driver's calls on the debug kernel, guided by coverage: MINUTES=n (default 10), SEED=n; PROGRAMS=file runs those of an earlier run again
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/vm/fuzz.sh $(or $(PROGRAMS),$(MINUTES),10) $(SEED)

vm-coverage: ## measure which lines of the driver, and which of its error lines, its tests execute, and list the others
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/vm/coverage.sh

driver-figures: ## measure the driver: cycles and checkpatch (kmod-check), coverage by its tests, a client beside a flood of others, unbind; in build/figures/driver.json. Only `make vm-fuzz MINUTES=60` writes vm_fuzz_reports there
	@failed=0; $(MAKE) kmod-check || failed=$$?; $(MAKE) vm-coverage || failed=$$?; scripts/vm/driver-figures.sh || failed=$$?; exit $$failed

debug-kernel: ## build that kernel (once per machine; 10 to 25 minutes), and print its path
	@$(SETUP) vm
	@scripts/vm/debug-kernel.sh

vm-packages: ## build the Debian packages, install them into a clean Debian, boot it in a VM, and test them
	@$(SETUP) base qemu vm
	@scripts/qemu.sh build >/dev/null
	@scripts/check.sh vm-packages packages

vm-bench: ## measure the driver in the VM, compared with NVMe there and memcpy here, also while it is monitored; writes build/figures/vm.json
	@$(SETUP) base bench qemu vm
	@scripts/qemu.sh build >/dev/null
	@$(MAKE) build/release/build.ninja
	@$(BUILD) build/release -j $(JOBS) --target sidra-bench
	@scripts/vm/build.sh
	@scripts/vm/bench.sh $(BENCH_FLAGS)

qemu: ## build QEMU with the sidra device (once per machine), and print its path
	@$(SETUP) base qemu
	@scripts/qemu.sh build

bench: ## measure against memcpy, oneDNN and OpenBLAS; writes build/figures/spine.json, twin.json, engine.json and smi.json
	@$(SETUP) base bench
	@$(MAKE) build/release/build.ninja
	@$(BUILD) build/release -j $(JOBS) --target sidra-bench sidra-smi
	@mkdir -p build/figures
	@build/release/tools/sidra-bench/sidra-bench --figures build/figures/spine.json $(BENCH_FLAGS)
	@build/release/tools/sidra-bench/sidra-bench twin --figures build/figures/twin.bench $(BENCH_FLAGS)
	@scripts/figures.py build/figures/twin.json <build/figures/twin.bench
	@rm build/figures/twin.bench
	@build/release/tools/sidra-bench/sidra-bench vector matmul conv network --figures build/figures/engine.bench $(BENCH_FLAGS)
	@scripts/figures.py build/figures/engine.json <build/figures/engine.bench
	@rm build/figures/engine.bench
	@scripts/smi-bench.py build/release >build/figures/smi.bench
	@scripts/figures.py build/figures/smi.json <build/figures/smi.bench
	@rm build/figures/smi.bench

bench-engine-torch: ## measure two networks against PyTorch and onnxruntime, which it installs once (in the cache); writes build/figures/engine.json
	@$(SETUP) base network torch
	@$(MAKE) build/release/build.ninja
	@$(BUILD) build/release -j $(JOBS) --target sidra-demo
	@libsidra/examples/sentence/convert.py >/dev/null
	@mkdir -p build/figures
	@python=$$(scripts/python-packages.sh) && $$python scripts/engine-torch.py build/release >build/figures/engine-torch.bench
	@scripts/figures.py build/figures/engine.json <build/figures/engine-torch.bench
	@rm build/figures/engine-torch.bench

compiler: ## build the compiler of networks, sidra-compile, and what runs and shows its files, sidra-run and sidra-objdump; installs MLIR once
	@$(SETUP) base compiler
	@$(MAKE) build/release/build.ninja
	@cmake build/release -DSIDRA_COMPILER=ON >build/release.configure.log || { cat build/release.configure.log; exit 1; }
	@$(BUILD) build/release -j $(JOBS) --target sidra-compile sidra-opt sidra-run sidra-objdump
	@echo "build/release/tools: sidra-compile/sidra-compile compiles, sidra-run/sidra-run runs what it made, sidra-objdump/sidra-objdump shows it"

conformance: compiler ## compile and run the stored tests of ONNX; writes build/figures/compiler.json (FILTER=name: only those)
	@$(BUILD) build/release -j $(JOBS) --target sidra-conformance
	@mkdir -p build/figures
	@build/release/compiler/sidra-conformance --figures build/figures/compiler.bench $(FILTER)
	@scripts/figures.py build/figures/compiler.json <build/figures/compiler.bench
	@rm build/figures/compiler.bench

bench-compiler: compiler ## measure the compiler, deployment, ResNet-50 against onnxruntime, and a sentence encoder against its eager form; fetches PyTorch once; writes build/figures/compiler.json (BENCH_FLAGS=--quick: one sample of each)
	@$(SETUP) base torch
	@$(BUILD) build/release -j $(JOBS) --target sidra-conformance
	@mkdir -p build/figures
	@python=$$(scripts/python-packages.sh) && $$python scripts/bench-compiler.py build/release $(BENCH_FLAGS) >build/figures/compiler.bench
	@scripts/figures.py build/figures/compiler.json <build/figures/compiler.bench
	@rm build/figures/compiler.bench
	@python=$$(scripts/python.sh) && $$python python/bench_compiled.py >build/figures/compiled.bench
	@scripts/figures.py build/figures/compiler.json <build/figures/compiled.bench
	@rm build/figures/compiled.bench

python: ## build the Python packages, and install them into build/python/venv; fetches PyTorch once
	@$(SETUP) base torch
	@scripts/python.sh

demo-torch: ## find sentences that mean the same, with an unchanged PyTorch model on the chip: DEMO_FLAGS="--help"
	@$(SETUP) base torch
	@python=$$(scripts/python.sh) && $$python python/examples/sentences.py --out build/sentences.svg $(DEMO_FLAGS)

bench-torch: ## measure PyTorch on the chip, eager and compiled, against PyTorch on the CPU; writes build/figures/torch.json and compile.json
	@$(SETUP) base compiler torch
	@mkdir -p build/figures
	@python=$$(scripts/python.sh) && $$python python/bench.py >build/figures/torch.bench && $$python python/bench_compile.py >build/figures/compile.bench
	@scripts/figures.py build/figures/torch.json <build/figures/torch.bench
	@scripts/figures.py build/figures/compile.json <build/figures/compile.bench
	@rm build/figures/torch.bench build/figures/compile.bench

python-check: ## test the Python packages
	@$(SETUP) base compiler torch
	@scripts/check.sh python-check python python-long

torch-suites: ## run PyTorch's own tests of devices on the chip, with the PyTorch of Debian 13 (SUITES="test_view_ops ...": only these)
	@$(SETUP) base vm torch
	@scripts/torch-suites.sh $(SUITES)

vm-torch: ## test the Python packages in a VM, on a card, with the PyTorch of Debian 13
	@$(SETUP) base qemu vm torch
	@scripts/qemu.sh build >/dev/null
	@scripts/torch-suites.sh --vm

format: ## format the sources
	@$(SETUP) lint
	@scripts/format.sh

lint: ## check formatting, headers, scripts and Python, and run clang-tidy over all sources
	@$(SETUP) base check bench lint torch
	@$(MAKE) build/release/build.ninja
	@scripts/lint.sh build/release

install: ## install libsidra, its headers and the tools under PREFIX (packagers: DESTDIR)
	@$(SETUP) base
	@$(MAKE) build/install/build.ninja
	@cmake build/install -DCMAKE_INSTALL_PREFIX=$(PREFIX) >build/install.configure.log || { cat build/install.configure.log; exit 1; }
	@$(BUILD) build/install -j $(JOBS)
	@DESTDIR=$(DESTDIR) cmake --install build/install
	@[[ -n "$(DESTDIR)" || ! -w /etc/ld.so.cache ]] || /sbin/ldconfig # /usr/local/lib is searched by the loader's cache only

packages: ## build Debian packages of libsidra, the tools, the driver (DKMS) and the firmware, in build/packages
	@$(SETUP) vm
	@scripts/packages/build.sh

setup: ## install the packages of every target
	@$(SETUP) all

clean: ## remove everything that was built
	@rm -rf build

# ---- Build trees, one a preset ---------------------------------------------------------------------------------------

# A tree is configured again after any package was installed or removed: a missing one (a peer of the benchmark, a checker) may be available now.
PACKAGES ?= $(wildcard /var/lib/dpkg/status)
build/%/build.ninja: CMakePresets.json $(PACKAGES)
	@mkdir -p build
	@cmake --preset $* >build/$*.configure.log 2>&1 || { cat build/$*.configure.log; exit 1; }
	@touch $@
