#!/usr/bin/env python3
"""Checks that clang can check what mutexes guard (engine/base/mutex.h).

    check_locks.py ROOT

Clang's thread safety analysis reads the annotations wherever it compiles (cmake/flowrun.cmake), which is the preset
asan. It can't see what has none. So these are breaches: a mutex, lock or condition of the standard library (only
engine/base/mutex.h has them), and a mutex that guards no annotated field and says in no comment what it guards. Prints
a line for each; exits with 1 if there is one."""
import pathlib
import re
import sys

FOLDERS = ("engine", "operators", "specs", "runner")
WRAPPER = "engine/base/mutex.h"
UNCHECKED = re.compile(r"\bstd::(mutex|recursive_mutex|shared_mutex|lock_guard|unique_lock|scoped_lock|"
                       r"shared_lock|condition_variable(_any)?)\b")
DECLARED = re.compile(r"^\s*(?:mutable )?(?:flowrun::)?mutex (\w+);(.*)$")


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


def main(root):
    root = pathlib.Path(root).resolve()
    texts = {path: (root / path).read_text() for path in sources(root)}
    found = [breach for path, text in texts.items() for breach in breaches_in_text(path, text)]
    for breach in found:
        print(breach)
    print(f"{len(texts)} files read, {len(found)} breaches")
    return 1 if found or not texts else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
