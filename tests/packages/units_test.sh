#!/bin/bash
# tests/packages/units_test.sh FLOWRUN UNITS
#
# systemd finds nothing wrong with the units of a folder, and flowrun takes the command line that they run.
set -euo pipefail
flowrun=$1 units=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { printf 'units_test.sh: %s\n' "$1" >&2; exit 1; }

# An instance of each; the program is the one that was built, since none need be installed.
for unit in service timer; do
  sed "s|^ExecStart=/usr/bin/flowrun |ExecStart=$flowrun |" "$units/flowrun@.$unit" > "$scratch/flowrun@nightly.$unit"
done
grep -q "^ExecStart=$flowrun " "$scratch/flowrun@nightly.service" || fail "the service doesn't start flowrun"
systemd-analyze verify "$scratch/flowrun@nightly.service" "$scratch/flowrun@nightly.timer" > "$scratch/said" 2>&1 ||
  fail "$(cat "$scratch/said")"
[ ! -s "$scratch/said" ] || fail "$(cat "$scratch/said")"

# The same command line, with paths of this test.
printf 'flowrun: 1\nnodes:\n  a: {op: generate, with: {rows: 3, columns: {x: i}}}\n  b: {op: file.write_csv, in: a, with: {path: out.csv}}\n' \
  > "$scratch/nightly.yaml"
mkdir "$scratch/cache" "$scratch/metrics"
command=$(sed -n '/^ExecStart=/,/[^\\]$/p' "$scratch/flowrun@nightly.service" | sed 's/^ExecStart=//' | tr -d '\\\n' |
  sed "s|%i|nightly|g; s|/etc/flowrun|$scratch|; s|/var/cache/flowrun|$scratch/cache|; s|/var/lib/prometheus/node-exporter|$scratch/metrics|")
(cd "$scratch" && bash -c "$command" 2> said) || fail "$command: $(cat "$scratch/said")"
[ "$(cat "$scratch/out.csv")" = $'0\n1\n2' ] || fail "the job has written: $(cat "$scratch/out.csv")"
[ -s "$scratch/metrics/flowrun-nightly.prom" ] || fail "the job has written no metrics"
echo "units_test.sh: the units are right"
