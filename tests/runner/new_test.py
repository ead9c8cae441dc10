#!/usr/bin/env python3
"""flowrun new: jobs that the checker takes, for every operator that can stand in a chain, and what it refuses."""

import re
import subprocess

from flowrun_process import FLOWRUN, main, process_test


class new_test(process_test):
    def begun(self, chain):
        done = self.flowrun("new", chain)
        self.assertEqual((done.returncode, done.stderr), (0, ""), chain)
        self.write("job.yaml", done.stdout)
        checked = self.flowrun("check", "--no-files", "job.yaml")
        self.assertEqual(checked.returncode, 0, done.stdout + checked.stderr)
        return done.stdout

    def test_a_chain(self):
        text = self.begun("file.read_csv/sort/file.write_csv")
        self.assertEqual(re.findall(r"^  (\w+):\n    op: (\S+)\n(?:    in: (\w+)\n)?", text, re.MULTILINE),
                         [("read_csv", "file.read_csv", ""), ("sort", "sort", "read_csv"), ("write_csv", "file.write_csv", "sort")])  # fmt: skip
        self.assertIn("      # The keys, most significant first", text)
        self.assertIn("      by: [src]\n", text)

    def test_it_runs(self):
        self.begun("file.read_csv/filter/sort/file.write_csv")
        self.write("edges.txt", "2,1\n1,5\n")
        done = self.flowrun("job.yaml", "--set", "nodes.write_csv.with.path=out.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out.csv").read_text().splitlines()[-2:], ["1,5", "2,1"])

    def test_names_are_different(self):
        text = self.begun("file.read_csv/sort/sort/file.write_csv")
        self.assertIn("  sort_2:\n", text)

    def test_every_operator(self):
        begun, refused = 0, 0
        for operator in (line.split()[0] for line in self.flowrun("ops").stdout.splitlines()):
            for chain in (f"{operator}/file.write_csv", f"file.read_csv/{operator}/file.write_csv", f"file.read_csv/{operator}"):
                done = self.flowrun("new", chain)
                if done.returncode == 0:
                    self.begun(chain)
                    begun += 1
                else:
                    self.assertEqual(done.returncode, 64, done.stderr)
                    refused += 1
        self.assertGreater(begun, 15)
        self.assertGreater(refused, 15)

    def test_output(self):
        done = self.flowrun("new", "file.read_csv/sort/file.write_csv", "-o", "job.yaml")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        before = (self.dir / "job.yaml").read_text()
        done = self.flowrun("new", "file.read_lines/file.write_lines", "-o", "job.yaml")
        self.assertEqual(done.returncode, 73)
        self.assertIn("is there already", done.stderr)
        self.assertEqual((self.dir / "job.yaml").read_text(), before)

    def test_output_behind_a_link(self):
        chain = "file.read_csv/sort/file.write_csv"
        (self.dir / "worked_on.yaml").write_text("flowrun: 1\n")
        (self.dir / "link.yaml").symlink_to("worked_on.yaml")
        (self.dir / "second.yaml").symlink_to("link.yaml")
        for name in ("link.yaml", "second.yaml"):
            done = self.flowrun("new", chain, "-o", name)
            self.assertEqual(done.returncode, 73, done.stderr)
            self.assertIn(f"{name} leads to", done.stderr)
            self.assertEqual((self.dir / "worked_on.yaml").read_text(), "flowrun: 1\n")
        # A link to nothing, or in a circle, is there, too.
        (self.dir / "hanging.yaml").symlink_to("made.yaml")
        (self.dir / "circle.yaml").symlink_to("circle.yaml")
        for name, way_out in (("hanging.yaml", "-o made.yaml makes that file"), ("circle.yaml", "remove the link")):
            done = self.flowrun("new", chain, "-o", name)
            self.assertEqual(done.returncode, 73, done.stderr)
            self.assertIn(f"{name} is a link to what isn't there", done.stderr)
            self.assertIn(way_out, done.stderr)
            self.assertTrue((self.dir / name).is_symlink())
        self.assertFalse((self.dir / "made.yaml").exists())
        self.assertEqual(self.flowrun("new", chain, "-o", "made.yaml").returncode, 0)

    def test_output_to_a_stream(self):
        chain = "file.read_csv/sort/file.write_csv"
        self.assertIn("flowrun: 1", self.flowrun("new", chain, "-o", "/dev/stdout").stdout)
        # Standard output goes on where it stands.
        self.write("kept.txt", "kept\n" * 10)
        with open(self.dir / "kept.txt", "a") as kept:
            done = subprocess.run([FLOWRUN, "new", chain, "-o", "/dev/stdout"], cwd=self.dir, env=self.environment, stdout=kept, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.dir / "kept.txt").read_text().startswith("kept\n" * 10 + "# flowrun new"))

    def test_what_is_refused(self):
        for chain, parts in [
            ("file.read_csv/srot/file.write_csv", ["no operator 'srot'", "did you mean 'sort'?"]),
            ("file.read_csv/join/file.write_csv", ["'join' reads several inputs (left, right)", "flowrun ops join"]),
            ("file.read_csv/concat/file.write_csv", ["'concat' reads any number of inputs"]),
            ("sort/file.write_csv", ["'sort' reads rows, and nothing is before it"]),
            ("file.read_csv/sort", ["'sort' gives rows that nothing reads"]),
            ("file.read_csv/file.read_csv/file.write_csv", ["'file.read_csv' reads no other node"]),
            ("file.read_csv/file.write_csv/sort/file.write_csv", ["'file.write_csv' writes"]),
            ("file.read_csv//file.write_csv", ["a part of the chain is empty"]),
            ("", ["new needs a CHAIN"]),
        ]:
            done = self.flowrun("new", chain, "-o", "none.yaml")
            self.assertEqual(done.returncode, 64, chain)
            for part in parts:
                self.assertIn(part, done.stderr)
            self.assertFalse((self.dir / "none.yaml").exists())

    def test_a_plugin_whose_name_cmake_has(self):
        done = self.flowrun("plugins", "new", "test")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("'test' can't be the name of a plugin: CMake has a target of that name", done.stderr)
        self.assertFalse((self.dir / "test").exists())


if __name__ == "__main__":
    main()
