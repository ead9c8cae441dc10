"""The check of locks finds what it is there for."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_locks  # noqa: E402

REAL = pathlib.Path(__file__).resolve().parents[2]

QUEUE = """#include "engine/base/mutex.h"
class queue {
 public:
  int take() {
    %s
    return waiting_;
  }

 private:
  flowrun::mutex mutex_;
  int waiting_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};
int use() { return queue().take(); }
"""
LOCKED = QUEUE % "flowrun::mutex_lock lock(mutex_);"


class CheckLocks(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            base = root / "engine/base"
            base.mkdir(parents=True)
            (base / "mutex.h").write_text((REAL / "engine/base/mutex.h").read_text())
            (base / "queue.cc").write_text(text)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = check_locks.main(root)
            return code, said.getvalue()

    def test_what_is_annotated_passes(self):
        self.assertEqual(self.check(LOCKED), (0, "2 files read, 0 breaches\n"))

    def test_locks_of_the_standard_library(self):
        code, said = self.check(LOCKED + "#include <mutex>\nstd::mutex other;  // guards all\n")
        self.assertEqual(code, 1)
        self.assertIn("queue.cc:15: std::mutex can't be checked", said)

    def test_a_mutex_that_guards_nothing(self):
        code, said = self.check(LOCKED + "flowrun::mutex other_;\n")
        self.assertEqual(code, 1)
        self.assertIn("queue.cc:14: no field is FLOWRUN_GUARDED_BY(other_)", said)


class Annotations(unittest.TestCase):
    """What the annotations of engine/base/mutex.h make of a breach where clang compiles it."""

    def compile(self, text):
        done = subprocess.run(["clang++-14", "-std=c++20", f"-I{REAL}", "-fsyntax-only", "-Wthread-safety", "-Werror",
                               "-x", "c++", "-"], input=text, capture_output=True, text=True)
        return done.returncode, done.stderr

    def test_what_is_locked_passes(self):
        self.assertEqual(self.compile(LOCKED), (0, ""))

    def test_a_field_without_its_lock(self):
        code, said = self.compile(QUEUE % "")
        self.assertEqual(code, 1)
        self.assertRegex(said, r":6:.*waiting_.*requires holding mutex 'mutex_'")

    def test_a_lock_taken_twice(self):
        code, said = self.compile(QUEUE % "flowrun::mutex_lock lock(mutex_); flowrun::mutex_lock again(mutex_);")
        self.assertEqual(code, 1)
        self.assertIn("already held", said)


if __name__ == "__main__":
    unittest.main()
