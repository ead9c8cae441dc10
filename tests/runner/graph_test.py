#!/usr/bin/env python3
"""flowrun graph: the same drawing in three languages, with every node, and with names that mean something to them."""

import re
import xml.etree.ElementTree

from flowrun_process import ROOT, SORT, main, process_test

SVG = "{http://www.w3.org/2000/svg}"
GIVEN = ("-p", "dir=in", "-p", "out=out")  # what the golden jobs ask for
HOSTILE = """flowrun: 1
name: "a <b> & \\"c\\" \\\\ ]]> --> `x` #1; | <script>"
nodes:
  rows: {op: generate, with: {rows: 3, columns: {x: i}}}
  sorted: {op: sort, in: rows, with: {by: ["x & 1"]}}
  out: {op: file.write_csv, in: sorted, with: {path: "-"}}
"""


class graph_test(process_test):
    def drawn(self, job, format):
        done = self.flowrun("graph", job, "-f", format, *(GIVEN if "golden" in str(job) else []))
        self.assertEqual((done.returncode, done.stderr), (0, ""), job)
        return done.stdout

    def test_dot_is_what_plan_draws(self):
        self.write("job.yaml", SORT)
        self.assertEqual(self.drawn("job.yaml", "dot"), self.flowrun("plan", "job.yaml", "-f", "dot").stdout)

    def test_every_node_in_every_format(self):
        jobs = sorted((ROOT / "tests/golden/jobs").glob("*/job.yaml"))
        self.assertGreater(len(jobs), 10)
        drawn = 0
        for job in jobs:
            dot = self.flowrun("graph", job, *GIVEN)
            if dot.returncode != 0:  # it needs parameters
                continue
            drawn += 1
            names = re.findall(r'\[label="((?:[^"\\]|\\[^n])*)\\n', dot.stdout)
            svg = xml.etree.ElementTree.fromstring(self.drawn(job, "svg"))
            texts = [text.text for text in svg.iter(SVG + "text")]
            mermaid = self.drawn(job, "mermaid")
            self.assertTrue(mermaid.startswith("flowchart LR\n"))
            for name in names:
                self.assertIn(name, texts, job.name)
            boxes = len(re.findall(r"fillcolor=\w+\];", dot.stdout))
            self.assertEqual(len([r for r in svg.iter(SVG + "rect") if "class" in r.attrib]), boxes, job.name)
            self.assertEqual(mermaid.count("]:::"), boxes, job.name)
            self.assertEqual(dot.stdout.count(" -> "), len([p for p in svg.iter(SVG + "path") if "class" in p.attrib]))
        self.assertGreater(drawn, 20)

    def test_no_box_covers_another(self):
        self.write("job.yaml", SORT)
        for job in [self.dir / "job.yaml", *sorted((ROOT / "tests/golden/jobs").glob("*/job.yaml"))]:
            done = self.flowrun("graph", job, "-f", "svg", *(GIVEN if "golden" in str(job) else []))
            if done.returncode != 0:
                continue
            svg = xml.etree.ElementTree.fromstring(done.stdout)
            boxes = [[float(r.get(k)) for k in ("x", "y", "width", "height")] for r in svg.iter(SVG + "rect") if "class" in r.attrib]
            width, height = float(svg.get("width")), float(svg.get("height"))
            for i, (x, y, w, h) in enumerate(boxes):
                self.assertTrue(x >= 0 and y >= 0 and x + w <= width and y + h <= height, job.name)
                for X, Y, W, H in boxes[:i]:
                    self.assertTrue(x + w <= X or X + W <= x or y + h <= Y or Y + H <= y, job.name)

    def test_names_that_mean_something(self):
        self.write("job.yaml", HOSTILE)
        svg = xml.etree.ElementTree.fromstring(self.drawn("job.yaml", "svg"))
        self.assertIn('a <b> & "c" \\ ]]> --> `x` #1; | <script>', [text.text for text in svg.iter(SVG + "text")])
        mermaid = self.drawn("job.yaml", "mermaid")
        for line in mermaid.splitlines():
            for label in re.findall(r'"([^"]*)"', line):
                self.assertNotRegex(label.replace("<br/>", ""), r"[<>`|{}\[\]\\]|#(?!\d+;)")
            self.assertEqual(line.count('"') % 2, 0, line)
        self.assertIn('digraph "a <b> & \\"c\\" \\\\ ]]>', self.drawn("job.yaml", "dot"))

    def test_what_xml_forbids(self):
        self.write("job.yaml", SORT.replace("name: sorting", 'name: "a\\uFFFE\\uFFFF\\e\\x7Fb\\0\\x1F\\tc\\n\\rd\\U0001F600é"'))
        svg = xml.etree.ElementTree.fromstring(self.drawn("job.yaml", "svg"))
        self.assertIn("a\ufffd\ufffd\ufffd\ufffdb\ufffd\ufffd\tc\n\rd\U0001f600é", [text.text for text in svg.iter(SVG + "text")])

    def test_the_name_of_the_output_says_the_format(self):
        self.write("job.yaml", SORT)
        for name, format in (("a.svg", "svg"), ("a.mmd", "mermaid"), ("a.dot", "dot"), ("a", "dot")):
            self.assertEqual(self.flowrun("graph", "job.yaml", "-o", name).returncode, 0)
            self.assertEqual((self.dir / name).read_text(), self.drawn("job.yaml", format))

    def test_faults(self):
        self.write("job.yaml", SORT.replace("by: [value]", "by: [valeu]"))
        self.write("good.yaml", SORT)
        self.assertEqual(self.flowrun("graph", "job.yaml", "-o", "x.svg").returncode, 78)
        self.assertFalse((self.dir / "x.svg").exists())
        done = self.flowrun("graph", "good.yaml", "-o", "./good.yaml")
        self.assertEqual((done.returncode, (self.dir / "good.yaml").read_text()), (64, SORT))
        self.assertIn("-o ./good.yaml is the job itself", done.stderr)
        self.write("reads.yaml", "flowrun: 1\nnodes:\n  rows: {op: file.read_lines, with: {path: in.txt}}\n"
                   "  out: {op: file.write_lines, in: rows, with: {path: out.txt}}\n")
        for name in ("in.txt", "out.txt"):
            self.write(name, "kept")
            done = self.flowrun("graph", "reads.yaml", "-o", name)
            self.assertEqual((done.returncode, (self.dir / name).read_text()), (78, "kept"), done.stderr)
            self.assertRegex(done.stderr, rf"-o\b.*{name}")
        self.assertEqual(self.flowrun("graph").returncode, 64)
        done = self.flowrun("graph", "good.yaml", "-f", "png")
        self.assertEqual(done.returncode, 64)
        self.assertIn("mermaid", done.stderr)


if __name__ == "__main__":
    main()
