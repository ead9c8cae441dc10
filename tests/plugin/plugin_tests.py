"""What tests of plugins share: an installed package, and plugins that are built with it as their authors do.

    NAME_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]
    plugin_tests.py FLOWRUN BUILD [COMPILER...]     reads in $FLOWRUN_PREFIX what all small plugins include, for the others

BUILD is the build that FLOWRUN is of. The package is installed once for each such test, or lies in $FLOWRUN_PREFIX
already. The first COMPILER builds the small plugins; examples are built with each.
"""

import atexit
import fcntl
import functools
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/runner"))
from flowrun_process import main, process_test  # noqa: E402

__all__ = ["COMPILERS", "NOTE", "PLUGIN", "PLUS", "ROOT", "SANITIZERS", "job", "main", "plugin_tests"]

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
COMPILERS = []
while len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
    COMPILERS.append(sys.argv.pop(1))
COMPILERS = COMPILERS or ["g++"]
SANITIZERS = re.findall(r"-fsanitize=[\w,]+", re.search(r"^CMAKE_CXX_FLAGS:.*$", (BUILD / "CMakeCache.txt").read_text(), re.M)[0])
LAUNCHER = [str(ROOT / "cmake/cached_compiler"), shutil.which("ccache")] if shutil.which("ccache") else []
OPTIMISED = ["-O0" if SANITIZERS else "-O1"]
TOYS_INCLUDE = ("flowrun/plugin.hpp", "cstdlib", "fstream", "stdexcept")
NOTE = b"flowrun\0"

# What a plugin is made of around what a test is about.
PLUGIN = """#include <flowrun/plugin.hpp>
#include <cstdlib>
#include <fstream>
// Whoever runs code of this file finds out: the file appears.
static const bool loaded = [] { if (const char* f = std::getenv("LOADED")) std::ofstream(f) << "x"; return true; }();
FLOWRUN_PLUGIN("%(name)s", "1.2.3") {
  %(body)s
}
"""
PLUS = """plugin.add(fr::function("%s").signature("%s(x) → f64").help("One more.")
                 .overload([](double x) -> double { %s return x + 1; }));"""


def job(expression, plugins="[toy]", rows=10):
    return f"""flowrun: 1
plugins: {plugins}
nodes:
  numbers: {{op: generate, with: {{rows: {rows}, columns: {{value: i}}}}}}
  mapped:  {{op: map, in: numbers, with: {{y: "{expression}"}}}}
  out:     {{op: file.write_csv, in: mapped, with: {{path: out.csv}}}}
"""


@functools.cache
def place():
    """A directory for what is made once."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="flowrun-test-"))
    atexit.register(shutil.rmtree, directory)
    return directory


@functools.cache
def prefix():
    """Where the package is installed."""
    if "FLOWRUN_PREFIX" in os.environ:
        return pathlib.Path(os.environ["FLOWRUN_PREFIX"])
    there = place() / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", there], check=True, capture_output=True)
    return there


def made_once(folder, make, *arguments):
    """The folder that make(folder, ...) fills: once for all tests that share an installation, side by side or not."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder, *arguments)
            (folder / "made").touch()
    return folder


def compile_toy(source, output, *arguments):
    """With the flags of all small plugins: those of a precompiled header are the same. Compiled apart from linking, since
    ccache keeps only that."""
    subprocess.run([*LAUNCHER, COMPILERS[0], "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fPIC", *SANITIZERS, *OPTIMISED,
                    "-Iinclude", *arguments, "-MD", "-MF", output.with_suffix(".d"), "-c", source.relative_to(prefix()),
                    "-o", output], cwd=prefix(), check=True)


def toys():
    """Where small plugins are made. Inside the installation, so that their paths from there are the same in each clone."""
    return prefix() / "toys" / pathlib.Path(COMPILERS[0]).name


def make_toys_header(folder):
    header = folder / "toys.h"
    header.write_text("".join(f"#include <{name}>\n" for name in TOYS_INCLUDE))
    compile_toy(header, folder / "toys.h.gch", "-x", "c++-header")


@functools.cache
def toys_header():
    """What small plugins include, read once for all of them: it takes longer than what they add."""
    return made_once(toys() / "header", make_toys_header) / "toys.h"


def make_toy(folder, text, more):
    (folder / "toy.cc").write_text(text)
    read = [] if more else ["-include", toys_header().relative_to(prefix())]
    compile_toy(folder / "toy.cc", folder / "toy.o", *more, *read)
    subprocess.run([COMPILERS[0], "-shared", *SANITIZERS, *OPTIMISED, *more, "toy.o", "-o", "toy.so"], cwd=folder, check=True)


@functools.cache
def compiled(text, more):
    """The plugin with this source."""
    name = hashlib.sha256(repr((text, more)).encode()).hexdigest()[:16]
    return made_once(toys() / name, make_toy, text, more) / "toy.so"


@functools.cache
def built_example(name, compiler):
    return made_once(prefix() / "examples" / f"{name}-{pathlib.Path(compiler).name}", build_example, name, compiler)


def build_example(build, name, compiler):
    # The first compiler builds them as their authors do. For the others all sources are one, since reading the headers
    # takes longest; and for a sanitizer, because what is optimised well takes it longer to build than to run.
    flags = ["-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0"] if SANITIZERS or compiler != COMPILERS[0] else []
    if SANITIZERS:
        flags += ["-DCMAKE_BUILD_TYPE=Sanitized", f"-DCMAKE_CXX_FLAGS={' '.join([*SANITIZERS, '-O1'])}"]
    for command in (["cmake", "-G", "Ninja", "-S", ROOT / "plugin/examples" / name, "-B", build, *configured(compiler), *flags],
                    ["cmake", "--build", build]):
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
    build.chmod(0o755)
    for plugin in build.glob("*.so"):
        plugin.chmod(0o755)


def configured(compiler):
    """What CMake is told so that it finds the package, and what a compiler has made before."""
    return [f"-DCMAKE_PREFIX_PATH={prefix()}", f"-DCMAKE_CXX_COMPILER={compiler}",
            *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(LAUNCHER)}"] if LAUNCHER else [])]


class plugin_tests(process_test):
    @classmethod
    def setUpClass(cls):
        cls.prefix = prefix()
        cls.shared = place() / cls.__name__
        cls.good = cls.compile(cls.shared / "good" / "toy.so", PLUS % ("plus", "plus", ""))

    def setUp(self):
        super().setUp()
        # What a plugin declares is never freed, since plugins are never unloaded.
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0"

    @classmethod
    def compile(cls, path, body, name="toy", source=PLUGIN, more=()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o755)
        shutil.copyfile(compiled(source % {"name": name, "body": body}, tuple(more)), path)
        path.chmod(0o755)
        return path

    def plugin(self, body, **more):
        return self.compile(self.dir / "plugins" / "toy.so", body, **more)

    def example(self, name, compiler=COMPILERS[0]):
        """The build of an example in plugin/examples, out of the tree."""
        return built_example(name, compiler)

    def refuse(self, plugin, *parts, code=78, runs=False):
        """A job that names the plugin has a fault; nothing of it ran, nothing appears."""
        self.write("job.yaml", job("toy.plus(f64(value))"))
        self.environment["LOADED"] = str(self.dir / "loaded")
        done = self.flowrun("job.yaml", "--plugin", plugin.parent)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in ("job.yaml:2:11", *parts):
            self.assertIn(part, done.stderr)
        self.assertEqual((self.dir / "loaded").exists(), runs)
        self.assertFalse((self.dir / "out.csv").exists())
        return done

    def patched(self, at, bytes_):
        """The good plugin with other bytes in its note."""
        content = bytearray(self.good.read_bytes())
        note = content.find(NOTE, content.find(struct.pack("<III", 8, 144, 1)))
        self.assertGreater(note, 0)
        content[note + 8 + at:note + 8 + at + len(bytes_)] = bytes_
        path = self.write("plugins/toy.so", bytes(content))
        path.parent.chmod(0o755)
        path.chmod(0o755)
        return path


if __name__ == "__main__":
    toys_header()
