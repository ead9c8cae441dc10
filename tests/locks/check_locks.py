#!/usr/bin/env python3
"""Checks that what a mutex guards is only touched under it (engine/base/mutex.h).

    check_locks.py ROOT BUILD      BUILD has the compile_commands.json of ROOT

Breaches: a mutex, lock or condition of the standard library, which clang can't check (only engine/base/mutex.h has
them); a mutex that guards no annotated field and says in no comment what it guards; and what clang's thread safety
analysis finds in a source that takes a lock, or whose headers do. Prints a line for each breach; exits with 1 if there
is one, with 2 if clang is missing."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

FOLDERS = ("engine", "operators", "specs", "runner")
WRAPPER = "engine/base/mutex.h"
UNCHECKED = re.compile(r"\bstd::(mutex|recursive_mutex|shared_mutex|lock_guard|unique_lock|scoped_lock|"
                       r"shared_lock|condition_variable(_any)?)\b")
DECLARED = re.compile(r"^\s*(?:mutable )?(?:flowrun::)?mutex (\w+);(.*)$")
LOCKS = re.compile(r"\bmutex_lock\b|FLOWRUN_GUARDED_BY|FLOWRUN_REQUIRES")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc") and path.is_file():
                yield path.relative_to(root).as_posix()


def breaches_in_text(path, text):
    if path == WRAPPER:
        return
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        found = UNCHECKED.search(code)
        if found:
            yield f"{path}:{number}: {found.group(0)} can't be checked: use the classes of {WRAPPER}"
        declared = DECLARED.match(line)
        if declared:
            name, rest = declared.groups()
            if "//" not in rest and not re.search(rf"FLOWRUN_GUARDED_BY\(([\w.>-]*\b)?{name}\)", text):
                yield f"{path}:{number}: no field is FLOWRUN_GUARDED_BY({name}), and no comment says what it guards"


def with_locks(root, texts):
    """The sources that take a lock themselves, or through a header that they include."""
    taking = {path for path, text in texts.items() if LOCKS.search(text)}
    for path, text in texts.items():
        if path.endswith(".cc") and (path in taking or taking.intersection(INCLUDE.findall(text)) - {WRAPPER}):
            yield path


def analyse(clang, root, command):
    """The warnings of clang for one source, as lines."""
    words = shlex.split(command["command"]) if "command" in command else list(command["arguments"])
    kept = []
    for word, following in zip(words, words[1:] + [""]):
        if word == "-isystem":
            kept += [word, following]
        elif word.startswith(("-I", "-D", "-std=")):
            kept.append(word)
    done = subprocess.run([clang, *kept, "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety",
                           command["file"]], cwd=command["directory"], capture_output=True, text=True)
    if done.returncode == 0:
        return []
    lines = [line for line in done.stderr.splitlines() if ": error:" in line]
    return [line.replace(str(root) + "/", "") for line in lines] or done.stderr.splitlines()[:5]


def main(root, build):
    root = pathlib.Path(root).resolve()
    clang = next((c for c in ("clang++-14", "clang++") if shutil.which(c)), None)
    if clang is None:
        print("clang is missing: tools/setup installs it", file=sys.stderr)
        return 2
    texts = {path: (root / path).read_text() for path in sources(root)}
    found = [breach for path, text in texts.items() for breach in breaches_in_text(path, text)]
    commands = {pathlib.Path(c["directory"], c["file"]).resolve(): c
                for c in json.loads(pathlib.Path(build, "compile_commands.json").read_text())}
    checked = [commands[root / path] for path in with_locks(root, texts) if root / path in commands]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda command: analyse(clang, root, command), checked):
            found += lines
    for breach in found:
        print(breach)
    print(f"{len(texts)} files read, {len(checked)} sources analysed, {len(found)} breaches")
    return 1 if found or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
