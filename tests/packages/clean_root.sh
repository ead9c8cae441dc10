#!/bin/bash
# tests/packages/clean_root.sh DIRECTORY
#
# Installs the packages of DIRECTORY in a Debian that has nothing else, and uses them there: the program, its pages and
# completions, and a plugin built with the headers. Needs root, debootstrap, and the same package archive as this machine.
set -euo pipefail
packages=$(cd "$1" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "clean_root.sh: debootstrap needs root" >&2; exit 77; }

root=$(mktemp -d)
trap 'umount "$root/proc" 2> /dev/null || true; rm -rf --one-file-system "$root"' EXIT
. /etc/os-release
archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | awk -v c="$VERSION_CODENAME" '$2 == c { print $1; exit }')
debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$archive" > "$root.log" 2>&1 || { tail -5 "$root.log" >&2; exit 1; }
rm -f "$root.log"
# How this machine reaches its archive, through a proxy for example.
cp -rT /etc/apt/apt.conf.d "$root/etc/apt/apt.conf.d"
mount -t proc proc "$root/proc" 2> /dev/null || echo "without /proc"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
expect() {
  local said
  said=$(inside bash -c "$1")
  grep -qF -- "$2" <<< "$said" || { printf 'clean_root.sh: %s: expected "%s", found:\n%s\n' "$1" "$2" "$said" >&2; exit 1; }
  echo "ok  $1"
}

inside apt-get -q -y update > /dev/null
inside bash -c 'apt-get -q -y install --no-install-recommends /packages/flowrun_*.deb' > /dev/null
expect 'flowrun --version' 'flowrun '
expect 'flowrun version' 'built with:'
expect "printf '%s\n' b a c | flowrun sort | tr -d '\n'" abc
expect 'printf "b,2\na,1\n" > /t.csv; flowrun infer /t.csv -o /job.yaml && flowrun -q /job.yaml' a,1
expect 'ls /usr/share/doc/flowrun' copyright
expect 'dpkg -L flowrun' /usr/share/bash-completion/completions/flowrun
expect 'dpkg -L flowrun' /usr/share/man/man1/flowrun-run.1.gz
expect 'ldd /usr/bin/flowrun | grep -c "not found" || true' 0
inside bash -c 'apt-get -q -y install --no-install-recommends /packages/flowrun-dev_*.deb g++ cmake make' > /dev/null
expect 'cd /tmp && flowrun plugin new geo && cmake -S geo -B geo/build > /dev/null && cmake --build geo/build > /dev/null && ls geo/build/*.so' geo.so
expect 'cd /tmp && flowrun plugins --plugin geo/build/geo.so' geo
inside apt-get -q -y purge flowrun flowrun-dev > /dev/null
expect 'ls /usr/bin/flowrun /usr/include/flowrun /usr/share/doc/flowrun 2>&1 | grep -c "No such file"' 3
echo "clean_root.sh: the packages install, work and go away again"
