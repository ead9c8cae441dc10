#!/usr/bin/env python3
"""The folders are the layers: checks what ARCHITECTURE.md says about them.

    check_layers.py [ROOT]        prints every breach as file:line: message; exit 1 if there is one

Breaches: an include that points up, an include of a file that doesn't exist, a header that no layer owns or no file
includes, a source that no CMakeLists.txt builds, a library outside the layers that may know it, and a test that
includes what lies with the tests of another folder. A file of more than 600 lines is printed as a note, not counted. Only text is read: no build, no compiler.
"""
import pathlib
import re
import sys

# What each layer may include directly. What those layers may include comes with it (see `closure`).
BELOW = {
    "engine/base": [],
    "engine/sizes": ["engine/base"],
    "engine/metrics": ["engine/base"],
    "engine/io": ["engine/metrics"],
    "engine/block": ["engine/io", "engine/sizes"],
    "engine/record": ["engine/base"],
    "engine/expr": ["engine/record"],
    "engine/kernels": ["engine/record"],
    "engine/runs": ["engine/block", "engine/kernels"],
    "engine/sort": ["engine/runs"],
    "engine/resume": ["engine/runs"],
    "engine/container": ["engine/runs"],
    "engine/stream": ["engine/container"],
    "specs": ["engine/base"],
    "engine/plan": ["specs", "engine/record", "engine/expr", "engine/sizes"],
    "engine/exec": ["engine/plan", "engine/sort", "engine/container", "engine/resume", "engine/metrics"],
    "operators": ["engine/exec"],
    "plugin": ["operators"],
    "cluster": ["operators"],
    "runner": ["plugin", "cluster"],
}

# A library by its headers, and the layers, or folders of them, that may include it. Tests may include anything.
LIBRARIES = [
    ("oneTBB", re.compile(r"(oneapi/)?tbb[/.]|execution$"), ["engine/exec", "engine/sort", "engine/container"]),
    ("yaml-cpp", re.compile(r"yaml-cpp/"), ["specs"]),
    ("simdjson", re.compile(r"simdjson\.h$"), ["operators"]),
    ("prometheus-cpp", re.compile(r"prometheus/"), ["engine/metrics"]),
    ("civetweb", re.compile(r"civetweb\.h$|CivetServer\.h$"), ["engine/metrics", "runner"]),
    ("Protocol Buffers", re.compile(r"google/protobuf/|.*\.pb\.h$"),
     ["specs", "engine/plan", "engine/resume", "engine/exec", "operators/parts/messages", "cluster", "runner"]),
]
AT_MOST_ONE_FILE = "prometheus-cpp"

# These decide before the run: they know no I/O and no threads.
PURE = ("engine/plan", "engine/sizes")
IMPURE_HEADERS = re.compile(r"(thread|mutex|shared_mutex|condition_variable|future|fstream|unistd\.h|fcntl\.h|liburing\.h)$")

# Tests include what lies beside them, and from here. The benchmarks, which are no tests, may include what all tests may.
SHARED_BY_TESTS = "tests/support/"
BENCHMARKS = "tests/bench/"

# Each is a project of its own, which is built without this repository: what it includes in quotes lies in its folder.
EXAMPLES = "plugin/examples/"

MOST_LINES = 600
SOURCE_SUFFIXES = (".cc", ".h")
SKIPPED = ("build", "out", "data", ".git")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
LISTED = re.compile(r"[^\s()\"]+\.(?:cc|h)\b")


def closure(layer):
    """The layers that `layer` may include, itself among them."""
    reached, waiting = set(), [layer]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting.extend(BELOW[current])
    return reached


def layer_of(path):
    """The layer that owns a path relative to the root, or None."""
    return next((layer for layer in BELOW if path.startswith(layer + "/")), None)


def files(root, suffixes):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] not in SKIPPED and path.is_file() and path.name.endswith(suffixes):
            yield relative.as_posix()


def lines_of(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace").splitlines()


def listed_sources(root):
    """Every .cc and .h that some CMakeLists.txt names, or that a pattern of it fits, relative to the root."""
    listed = set()
    for path in files(root, "CMakeLists.txt"):
        for line in lines_of(root, path):
            for name in LISTED.findall(line.split("#")[0]):
                name = name.replace("${PROJECT_SOURCE_DIR}", str(root)).replace("${CMAKE_SOURCE_DIR}", str(root))
                name = name.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
                folder = (root / path).parent
                for target in folder.glob(name) if "*" in name else [folder / name]:
                    target = target.resolve()
                    if target.is_relative_to(root):
                        listed.add(target.relative_to(root).as_posix())
    return listed


def include_breaches(root, path, number, name, quoted):
    """What is wrong with one include; yields messages."""
    layer = layer_of(path)
    target = layer_of(name)
    if quoted:
        proto = re.sub(r"\.pb\.h$", ".proto", name)
        if not (root / name).is_file() and not (proto != name and (root / proto).is_file()):
            yield f'includes "{name}", which is not in the repository (paths start at its root)'
    elif target is not None:
        yield f'includes <{name}>: write "{name}"'
    if path.startswith("tests/") and not path.startswith(BENCHMARKS) and name.startswith("tests/"):
        beside = path.rsplit("/", 1)[0] + "/"
        if not name.startswith((beside, SHARED_BY_TESTS)):
            yield f'includes "{name}": what tests of several folders share lies in {SHARED_BY_TESTS[:-1]}'
    if layer is None:
        return
    if target is not None and target not in closure(layer):
        yield f"{layer} may not include {target} ({name}): includes only point down"
    for library, pattern, allowed in LIBRARIES:
        if pattern.match(name) and layer not in allowed and path.rpartition("/")[0] not in allowed:
            yield f"{library} ({name}) may be included in {', '.join(allowed)} only"
    if layer in PURE and not quoted and IMPURE_HEADERS.match(name):
        yield f"{layer} decides before the run and knows no I/O and no threads: <{name}>"


def check(root):
    """Returns (breaches, notes), each a list of lines to print."""
    root = pathlib.Path(root).resolve()
    breaches, notes, included, library_users = [], [], set(), {}
    sources = list(files(root, SOURCE_SUFFIXES))
    listed = listed_sources(root)
    for path in sources:
        lines = lines_of(root, path)
        if len(lines) > MOST_LINES:
            notes.append(f"{path}:1: note: {len(lines)} lines: this is two files")
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match[1] or match[2]
            if match[1] and path.startswith(EXAMPLES):
                name = path.rsplit("/", 1)[0] + "/" + name
            included.add(name)
            for message in include_breaches(root, path, number, name, match[1] is not None):
                breaches.append(f"{path}:{number}: {message}")
            for library, pattern, _ in LIBRARIES:
                if pattern.match(name) and layer_of(path) is not None:
                    library_users.setdefault(library, set()).add(path)
    for path in sources:
        in_tests = path.startswith("tests/")
        if layer_of(path) is None and not in_tests:
            breaches.append(f"{path}:1: no layer owns this file (layers: {', '.join(BELOW)})")
        if path.endswith(".h") and path not in included and path not in listed:
            breaches.append(f"{path}:1: nobody includes this header, and no CMakeLists.txt lists it")
        if path.endswith(".cc") and path not in listed:
            breaches.append(f"{path}:1: no CMakeLists.txt lists this source")
    users = sorted(library_users.get(AT_MOST_ONE_FILE, ()))
    if len(users) > 1:
        breaches.append(f"{users[1]}:1: {AT_MOST_ONE_FILE} belongs in one file, and {users[0]} is it already")
    return breaches, notes


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[2]
    breaches, notes = check(root)
    for line in notes + breaches:
        print(line)
    print(f"layers: {len(breaches)} breach{'' if len(breaches) == 1 else 'es'}, {len(notes)} long files")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
