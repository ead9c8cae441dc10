#!/bin/bash
# tests/packages/install_test.sh BUILD SOURCE
#
# Installs what is built below a folder, uses it there, and takes it away again: nothing is left but the directories
# that are everybody's, and a file that somebody else has put beside it.
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
manifest=$build/install_manifest.txt
# What a person has installed from here can still be taken away after this test.
if [ -e "$manifest" ]; then cp "$manifest" "$scratch/manifest"; fi
finish() {
  rm -f "$manifest"
  if [ -e "$scratch/manifest" ]; then cp "$scratch/manifest" "$manifest"; fi
  rm -rf "$scratch"
}
trap finish EXIT
fail() { printf 'install_test.sh: %s\n' "$1" >&2; exit 1; }

prefix="$scratch/a prefix"
cmake --install "$build" --prefix "$prefix" > /dev/null
said=$("$prefix/bin/flowrun" --version)
[[ $said == "flowrun "* ]] || fail "the installed program says: $said"
[ -e "$prefix/include/flowrun/plugin.h" ] || fail "the headers of plugins are not installed"
echo kept > "$prefix/include/mine.h"
cmake "-DMANIFEST=$manifest" -P "$source/cmake/uninstall.cmake" 2> /dev/null
left=$(cd "$prefix" && find . -type f -o -type l -o -type d -name 'flowrun*')
[ "$left" = ./include/mine.h ] || fail "after uninstalling there is: $left"
if cmake "-DMANIFEST=$manifest" -P "$source/cmake/uninstall.cmake" 2> "$scratch/again"; then fail "it uninstalls twice"; fi
grep -q 'nothing was installed from here' "$scratch/again" || fail "$(cat "$scratch/again")"
echo "install_test.sh: installs, works and goes away again"
