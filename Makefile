# Two commands for a stranger: `make run` and `make test`. Everything else is for those who stay.

JOBS ?= $(shell nproc)
# Tests wait for disks, too.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
PRESETS := release debug asan tsan
FLOWRUN := build/release/bin/flowrun
EXAMPLE := debian-depends
SOURCES = $(shell find cluster engine operators specs runner tests -name '*.cc' -o -name '*.h')

.DEFAULT_GOAL := help
.PHONY: help setup build $(PRESETS) run test torture bench figures reference cluster dask-cluster cluster-down cluster-jar cluster-torture package package-test format tidy clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup:  ## install the packages that the build needs (Debian 12)
	@tools/setup

build: release  ## build the release preset: build/release/bin/flowrun

# Configured once; after that, ninja reconfigures by itself when a CMakeLists.txt changes.
build/%/build.ninja:
	cmake --preset $* $(CMAKE_OPTIONS)

$(PRESETS): %: build/%/build.ninja
	cmake --build build/$@ --parallel $(JOBS)

run: setup  ## build, run the example job on Debian's dependency graph, show the top of its results
	@$(MAKE) --no-print-directory build/release/build.ninja
	cmake --build build/release --parallel $(JOBS) --target flowrun
	$(FLOWRUN) specs/examples/$(EXAMPLE).yaml
	@printf '\nThe packages that most others depend on (out/$(EXAMPLE)/top.csv):\n'
	@head -n 10 out/$(EXAMPLE)/top.csv
	@printf '\nThe most common pairs of dependencies (out/$(EXAMPLE)/pairs.csv):\n'
	@head -n 10 out/$(EXAMPLE)/pairs.csv

test:  ## build and test the release preset, then most of it with the address and undefined-behaviour sanitizers
	@tools/setup --parquet
	@$(MAKE) --no-print-directory test-release
	@$(MAKE) --no-print-directory test-asan

test-%: %  ## (test-debug, test-tsan, …) build and test one preset
	ctest --preset $* --parallel $(TEST_JOBS)

torture: build/release/build.ninja  ## fail, kill and damage jobs at length (hours), write docs/reliability.md; TORTURE="kills bit_flips" picks
	cmake --build build/release --parallel $(JOBS) --target flowrun failing_calls
	tests/torture/torture.py --flowrun $(FLOWRUN) --library build/release/tests/libfailing_calls.so \
	  --write docs/reliability.md $(TORTURE)

bench:  ## build the benchmarks, run them beside their peers, write docs/benchmarks; BENCH="sort_u64 text --runs 3" picks
	@tools/setup --bench --parquet
	cmake --preset release -DFLOWRUN_BENCH=ON
	cmake --build build/release --parallel $(JOBS) --target benchmarks
	tests/bench/bench.py $(BENCH)

figures:  ## simulate the papers' disks and draw their figures: docs/simulation/*.svg
	@tools/setup --bench
	cmake --preset release -DFLOWRUN_BENCH=ON
	cmake --build build/release --parallel $(JOBS) --target bench_disk_simulation
	build/release/bench/disk_simulation > build/release/disk_simulation.csv
	/usr/bin/python3 tests/bench/draw_simulation.py build/release/disk_simulation.csv docs/simulation

reference: release  ## write the generated pages anew: specs/REFERENCE.md, the schema, docs/commands.md, docs/plugin-reference.md
	$(FLOWRUN) reference > build/REFERENCE.md && mv build/REFERENCE.md specs/REFERENCE.md
	$(FLOWRUN) schema > build/schema.json && mv build/schema.json specs/flowrun-1.schema.json
	tools/command-reference $(FLOWRUN) > build/commands.md && mv build/commands.md docs/commands.md
	tools/plugin-reference > build/plugin-reference.md && mv build/plugin-reference.md docs/plugin-reference.md

cluster: cluster-jar  ## start a Spark master and three workers on this machine, as root in network namespaces; it says the address
	@tools/cluster up --workers 3

dask-cluster: build  ## start a Dask scheduler and three workers on this machine, for --cluster dask://127.0.0.1:8786
	@tools/setup --cluster
	@tools/cluster up --engine dask --workers 3

cluster-down:  ## end them
	@tools/cluster down

cluster-torture: release cluster-jar  ## jobs on such a cluster (root) while workers, networks, disks and drivers fail, into docs/reliability.md; CLUSTER_TORTURE="--gigabytes 10"
	tests/torture/cluster_torture.py --flowrun $(FLOWRUN) --write docs/reliability.md $(CLUSTER_TORTURE)

# What runs tasks on Spark's executors; the program looks for it where it lies itself, and in share.
cluster-jar:  ## build flowrun-spark.jar beside the program
	@tools/setup --cluster
	rm -rf build/spark-classes && mkdir -p build/spark-classes build/release/bin
	javac --release 17 -Xlint:all,-path,-processing -Werror -cp "$$(echo build/spark/lib/python3*/site-packages/pyspark)/jars/*" \
	  -d build/spark-classes cluster/spark/Tasks.java
	jar --create --file build/release/bin/flowrun-spark.jar -C build/spark-classes .

package: build/release/build.ninja cluster-jar  ## Debian packages of what is built: build/release/packages/*.deb
	@tools/setup --package
	cmake --build build/release --parallel $(JOBS) --target flowrun documents package_changelog
	cpack --config build/release/CPackConfig.cmake
	lintian --fail-on error,warning build/release/packages/*.deb

package-test: package  ## install the packages in a new, clean Debian and use them there (root; minutes)
	tests/packages/clean_root.sh build/release/packages

format:  ## clang-format every source in place
	@tools/setup --dev
	clang-format -i $(SOURCES)

tidy:  ## clang-tidy over every source
	@tools/setup --dev
	cmake --preset release -B build/tidy -DFLOWRUN_PRECOMPILED_HEADERS=OFF
	cmake --build build/tidy --parallel $(JOBS) --target flowrun_operators
	run-clang-tidy -quiet -p build/tidy -j $(JOBS) '/(cluster|engine|operators|specs|runner)/.*\.cc$$'

clean:  ## remove build/ and out/
	rm -rf build out
