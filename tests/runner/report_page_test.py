#!/usr/bin/env python3
"""flowrun report: the page of a run that has ended, from its report."""

import json
import re

from flowrun_process import SORT, main, process_test


class report_page_test(process_test):
    def setUp(self):
        super().setUp()
        self.write("job.yaml", SORT)
        done = self.flowrun("job.yaml", "-q", "--report", "run.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_json = (self.dir / "run.json").read_text()

    def inside(self, page):
        return json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.S).group(1))

    def test_the_page_has_the_report_in_it(self):
        done = self.flowrun("report", "run.json", "-o", "run.html")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.inside((self.dir / "run.html").read_text()), json.loads(self.run_json))

    def test_the_page_asks_no_other_address(self):
        page = self.flowrun("report", "run.json").stdout
        self.assertNotRegex(page, r'(src|href)="(?!data:,)')
        self.assertNotRegex(page, r"@import|url\(")
        self.assertNotRegex(page, r"@[A-Z_]+@")
        urls = set(re.findall(r"https?://[^\s\"'<]+", page))
        self.assertEqual(urls, {"http://www.w3.org/2000/svg"})  # a name, not an address that is asked

    def test_from_standard_input_to_standard_output(self):
        done = self.flowrun("report", "-", input=self.run_json)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.flowrun("report", "run.json").stdout)

    def test_what_would_end_the_script_element(self):
        report = json.loads(self.run_json)
        report["job"] = "</script><script>alert(1)</script><!--\u2028 @PAGE_JS@ @REPORT@"
        self.write("odd.json", json.dumps(report, ensure_ascii=False))
        page = self.flowrun("report", "odd.json").stdout
        self.assertNotIn("alert(1)</script>", page)
        self.assertNotIn("\u2028", page)
        self.assertEqual(self.inside(page)["job"], report["job"])
        self.assertEqual(page.count("<script"), self.flowrun("report", "run.json").stdout.count("<script"))

    def test_a_page_that_is_there_is_replaced(self):
        self.write("run.html", "old")
        self.assertEqual(self.flowrun("report", "run.json", "-o", "run.html").returncode, 0)
        self.assertIn("<title>Flowrun</title>", (self.dir / "run.html").read_text())

    def test_the_report_is_not(self):
        self.fails(64, self.flowrun("report", "run.json", "-o", "./run.json"), "is the report itself")
        with open(self.dir / "run.json") as report:
            self.fails(64, self.flowrun("report", "-", "-o", "run.json", stdin=report), "is the report itself")
        self.assertEqual((self.dir / "run.json").read_text(), self.run_json)

    def test_reports_of_other_versions(self):
        report = json.loads(self.run_json)
        self.write("new.json", json.dumps({**report, "format": 2, "version": "9.1.0", "more": [1]}))
        self.fails(65, self.flowrun("report", "new.json"), "new.json", "format 2", "format 1", "9.1.0")
        del report["format"]
        self.write("old.json", json.dumps(report))
        self.fails(65, self.flowrun("report", "old.json"), "old.json", "older flowrun", "--report")

    def test_fields_that_are_not_known_are_left_out(self):
        self.write("more.json", json.dumps({**json.loads(self.run_json), "new_field": {"x": 1}}))
        self.assertEqual(self.inside(self.flowrun("report", "more.json").stdout), json.loads(self.run_json))

    def test_what_is_no_report(self):
        for name, text in (("text", "flowrun: 1\n"), ("empty", ""), ("list", "[1]"), ("other", '{"x": 1}'), ("cut", self.run_json[:500])):
            with self.subTest(name):
                self.write(name, text)
                self.fails(65, self.flowrun("report", name), name + " is no run report")
        self.fails(66, self.flowrun("report", "nowhere.json"), "can't read nowhere.json")
        self.fails(66, self.flowrun("report", "."), "is a directory")
        self.fails(64, self.flowrun("report"), "report needs a FILE")
        self.fails(73, self.flowrun("report", "run.json", "-o", "no/where.html"), "no/where.html")


if __name__ == "__main__":
    main()
