#!/bin/bash
# tests/packages/clean_root.sh DIRECTORY
#
# Installs the packages of DIRECTORY in a Debian that has nothing else, and uses them there: the tutorial up to its first
# result, the program's pages and completions, and a plugin built with the headers. Then takes them away again. Needs
# root, debootstrap, and the same package archive as this machine.
set -euo pipefail
packages=$(cd "$1" && pwd)
tutorial=$(cd "$(dirname "$0")/../../docs" && pwd)/tutorial.md
[ "$(id -u)" -eq 0 ] || { echo "clean_root.sh: debootstrap needs root" >&2; exit 77; }

root=$(mktemp -d)
# With what is left mounted, nothing is removed. apt downloads as a user of its own, who has to get in.
trap 'for at in dev/pts proc; do ! mountpoint -q "$root/$at" || umount "$root/$at"; done; rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root"
. /etc/os-release
archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | awk -v c="$VERSION_CODENAME" '$2 == c { print $1; exit }')
debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$archive" > "$root.log" 2>&1 || { tail -5 "$root.log" >&2; exit 1; }
rm -f "$root.log"
# How this machine reaches its archive, through a proxy for example.
cp -rT /etc/apt/apt.conf.d "$root/etc/apt/apt.conf.d"
mount -t proc proc "$root/proc" 2> /dev/null || echo "without /proc"
mount -t devpts devpts "$root/dev/pts" 2> /dev/null || echo "without /dev/pts"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
expect() {
  local said
  said=$(inside bash -c "$1")
  grep -qF -- "$2" <<< "$said" || { printf 'clean_root.sh: %s: expected "%s", found:\n%s\n' "$1" "$2" "$said" >&2; exit 1; }
  echo "ok  $1"
}

# The shell blocks of the tutorial's sections 2 to 6, from the data to the first result. Each ends with the exit code that
# its block names, or with 0.
awk '
  /^## 7\./ { exit }
  /^```sh/ { code = match($0, /exits [0-9]+/) ? substr($0, RSTART + 6, RLENGTH - 6) : 0; inside = 1; print "("; next }
  /^```/ { if (inside) print ")\n[ $? -eq " code " ] || { echo \"a block of the tutorial has failed\" >&2; exit 1; }"; inside = 0; next }
  inside' "$tutorial" > "$root/tutorial.sh"
install_command=$(sed -n 's/^apt install \(.*\)$/apt-get -q -y install --no-install-recommends \1/p' "$tutorial")
[ -n "$install_command" ] || { echo "clean_root.sh: the tutorial has no line with apt install" >&2; exit 1; }

inside apt-get -q -y update > /dev/null
begin=$(date +%s%N)
inside bash -c "cd /packages && $install_command" > "$root.log" 2>&1 || { tail -5 "$root.log" >&2; rm -f "$root.log"; exit 1; }
rm -f "$root.log"
installed=$(date +%s%N)
expect 'mkdir /ride && cd /ride && bash /tutorial.sh 2> /tutorial.errors || cat /tutorial.errors' 2026-05-02,Castle,55
ended=$(date +%s%N)
printf 'from apt install to the first result of the tutorial: %d.%d s, %d.%d s of these after the install\n' \
  $(((ended - begin) / 1000000000)) $(((ended - begin) / 100000000 % 10)) \
  $(((ended - installed) / 1000000000)) $(((ended - installed) / 100000000 % 10))
expect 'flowrun --version' 'flowrun '
expect 'flowrun version' 'built with:'
expect "printf '%s\n' b a c | flowrun sort | tr -d '\n'" abc
expect 'printf "b,2\na,1\n" > /t.csv; flowrun infer /t.csv -o /job.yaml && flowrun -q /job.yaml' a,1
expect 'ls /usr/share/doc/flowrun' copyright
expect 'dpkg -L flowrun' /usr/share/bash-completion/completions/flowrun
expect 'dpkg -L flowrun' /usr/share/man/man1/flowrun-run.1.gz
expect 'dpkg -L flowrun' /usr/share/flowrun/flowrun-dask.py
expect 'dpkg -L flowrun' /usr/share/flowrun/flowrun-spark.jar
expect 'ldd /usr/bin/flowrun | grep -c "not found" || true' 0
inside bash -c 'apt-get -q -y install --no-install-recommends /packages/flowrun-dev_*.deb g++ cmake make' > /dev/null 2>&1
expect 'cd /tmp && flowrun plugin new geo && cmake -S geo -B geo/build > /dev/null && cmake --build geo/build > /dev/null && ls geo/build/*.so' geo.so
expect 'cd /tmp && flowrun plugins --plugin geo/build/geo.so' geo
inside apt-get -q -y purge flowrun flowrun-dev > /dev/null
expect 'ls /usr/bin/flowrun /usr/include/flowrun /usr/share/doc/flowrun 2>&1 | grep -c "No such file"' 3
echo "clean_root.sh: the packages install, work and go away again"
