#!/usr/bin/env python3
"""What flowrun plugin new begins builds with each compiler, and passes its tests.

    scaffold_test.py FLOWRUN BUILD [COMPILER...] [-k NAME]     see plugin_tests.py
"""

import subprocess

from plugin_tests import COMPILERS, SANITIZERS, configured, main, plugin_tests


class scaffold_test(plugin_tests):
    def test_a_new_plugin_builds_and_passes(self):
        outputs = {"function": "0,", "aggregate": "0,0.5,2\n1,0,2\n2,1,2\n", "stateless": "line,4\nnumber,6\nline,4\nnumber,6\nline,4\nnumber,6\n",
                   "ordered": "", "source": "871,178\n", "breaker": "1,", "meeting": "", "sink": "6:line 0\n6:line 1\n6:line 2\n"}
        kinds = list(outputs.items())
        # Eight times the same to a sanitizer: what they include. All roles run under it in roles_test.py.
        for number, (kind, output) in enumerate(kinds[:3] if SANITIZERS else kinds):
            with self.subTest(kind=kind):
                folder = f"deep/{kind}"
                done = self.flowrun("plugin", "new", folder, *(["--kind", kind] if number else []))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(p.name for p in (self.dir / folder).iterdir()),
                                 sorted(["CMakeLists.txt", "README.md", f"{kind}.cc", "job.yaml"]))
                flags = [f"-DCMAKE_CXX_FLAGS={' '.join(['-Wall -Wextra -Wpedantic -Wshadow -Werror', *SANITIZERS])}"]
                for command in (["cmake", "-G", "Ninja", "-S", folder, "-B", f"{folder}/build", *flags,
                                 *configured(COMPILERS[-number % len(COMPILERS)])],
                                ["cmake", "--build", f"{folder}/build"], ["chmod", "-R", "go-w", f"{folder}/build"],
                                ["ctest", "--test-dir", f"{folder}/build", "--output-on-failure"]):
                    done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                done = self.flowrun("run", f"{folder}/job.yaml", "--plugin", f"{folder}/build")
                self.assertEqual(done.returncode, 0, done.stderr)
                written = next(self.dir.glob("output.*"))
                self.assertTrue(written.read_text().startswith(output))
                written.unlink()
                if kind == "meeting":
                    self.ends_before_an_input_does(f"{folder}/build")
        again = self.flowrun("plugin", "new", "deep/function")
        self.assertEqual(again.returncode, 73)
        self.assertIn("it is there already", again.stderr)
        for arguments in (["new", "Shop"], ["new", "shop", "--kind", "loop"], ["new"], ["check"], ["frob"]):
            self.assertEqual(self.flowrun("plugin", *arguments).returncode, 64, arguments)

    def ends_before_an_input_does(self, built):
        """Whatever fills the input goes on, and the job ends."""
        self.write("long.yaml", """flowrun: 1
plugins: [meeting]
nodes:
  a: {op: generate, with: {rows: 10, columns: {id: 3 * i}}}
  b: {op: generate, with: {rows: 1000000, columns: {id: 2 * i}}}
  by_a: {op: sort, in: a, with: {by: [id]}}
  by_b: {op: sort, in: b, with: {by: [id]}}
  alone: {op: meeting.lonely, in: {left: by_a, right: by_b}, with: {by: [id]}}
  n: {op: reduce, in: by_b, with: {let: {n: count()}}}
  out: {op: file.write_csv, in: alone, with: {path: alone.csv}}
""")
        done = self.flowrun("long.yaml", "-m", "64MiB", "-T", "scratch", "--plugin", built)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "alone.csv").read_text(), "3\n9\n15\n21\n27\n")


if __name__ == "__main__":
    main()
