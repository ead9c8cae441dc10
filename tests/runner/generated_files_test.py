#!/usr/bin/env python3
"""The files of specs/ that the program generates are what it generates now, and the schema agrees with the examples'
keys."""

import json

from flowrun_process import ROOT, main, process_test


class generated_files_test(process_test):
    def up_to_date(self, file, command):
        text = (ROOT / file).read_text()
        self.assertTrue(
            text == self.flowrun(command).stdout, f"{file} is out of date: `make reference` writes it"
        )

    def test_reference(self):
        self.up_to_date("specs/REFERENCE.md", "reference")

    def test_schema(self):
        self.up_to_date("specs/flowrun-1.schema.json", "schema")

    def test_reference_has_every_operator(self):
        text = (ROOT / "specs/REFERENCE.md").read_text()
        for line in self.flowrun("ops").stdout.splitlines():
            self.assertIn(f"\n### {line.split()[0]}\n", text)

    def test_schema_is_json_with_every_operator(self):
        text = (ROOT / "specs/flowrun-1.schema.json").read_text()
        self.assertEqual(json.loads(text)["$schema"], "http://json-schema.org/draft-07/schema#")
        for line in self.flowrun("ops").stdout.splitlines():
            self.assertIn(json.dumps(line.split()[0]), text)

    def test_examples_have_no_faults(self):
        for path in sorted((ROOT / "specs/examples").glob("*.yaml")):
            done = self.flowrun("check", "--no-files", path)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()
