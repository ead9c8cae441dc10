#!/usr/bin/env python3
"""Every metric and label that a dashboard or the Prometheus configuration uses exists in engine/metrics/names.h, the one
list of names. Also: a dashboard names no data source of its own but the variable, and its panels don't overlap.

names.h is read as text: entries of the form  X(flowrun_name, counter|gauge|histogram, "help", "label,label").
"""
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-")
                    else pathlib.Path(__file__).resolve().parents[2])
ENTRY = re.compile(r'\b\w+\(\s*((?:flowrun|process)_\w+)\s*,\s*(counter|gauge|histogram)\s*,\s*((?:"(?:[^"\\]|\\.)*"\s*)+),\s*"([^"]*)"')
METRIC = re.compile(r"\b(?:flowrun|process)_[a-z0-9_]+")
SELECTOR = re.compile(r"\b((?:flowrun|process)_[a-z0-9_]+)\s*\{([^}]*)\}")
GROUPING = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
SUFFIXES = {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
EVERYWHERE = {"job", "instance", "job_name"}  # what Prometheus adds to all that it reads, and the common label of names.h


def declared(text):
    """{series name: set of labels} of a names.h."""
    series = {}
    text = text.replace("\\\n", " ")  # the list is a macro: its lines go on
    for name, kind, _, labels in ENTRY.findall(text):
        for suffix in SUFFIXES[kind]:
            series[name + suffix] = {label.strip() for label in labels.split(",") if label.strip()} | EVERYWHERE
            if suffix == "_bucket":
                series[name + suffix].add("le")
    return series


def faults_of(expression, series, legend=""):
    """What an expression uses that doesn't exist."""
    used = [name for name in METRIC.findall(expression)]
    faults = [f"no metric {name}" for name in used if name not in series]
    known = [series[name] for name in used if name in series]
    for name, selector in SELECTOR.findall(expression):
        for label in re.findall(r"(\w+)\s*[!=]~?=?", re.sub(r'"[^"]*"', '""', selector)):
            if name in series and label not in series[name]:
                faults.append(f"{name} has no label {label}")
    labels = [label.strip() for group in GROUPING.findall(expression) for label in group.split(",")]
    for label in labels + LEGEND.findall(legend):
        if known and not any(label in labels_of for labels_of in known):
            faults.append(f"no label {label} in {', '.join(used)}")
    return faults


class dashboards_test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.series = declared((ROOT / "engine/metrics/names.h").read_text())
        cls.dashboards = {path.name: json.loads(path.read_text()) for path in sorted((ROOT / "dashboards").glob("*.json"))}

    def test_the_list_of_names_is_found(self):
        self.assertGreater(len(self.series), 10)
        self.assertIn("flowrun_node_rows_total", self.series)
        self.assertTrue(self.dashboards)

    def test_every_metric_of_a_panel_exists(self):
        for file, dashboard in self.dashboards.items():
            for panel in dashboard["panels"]:
                for target in panel.get("targets", []):
                    with self.subTest(file=file, panel=panel["title"], expression=target["expr"]):
                        self.assertTrue(METRIC.search(target["expr"]))
                        self.assertEqual(faults_of(target["expr"], self.series, target.get("legendFormat", "")), [])

    def test_every_metric_of_a_variable_exists(self):
        for file, dashboard in self.dashboards.items():
            for variable in dashboard["templating"]["list"]:
                if variable["type"] == "query":
                    with self.subTest(file=file, variable=variable["name"]):
                        self.assertEqual(faults_of(variable["query"]["query"], self.series), [])

    def test_every_metric_of_a_configuration_exists(self):
        for path in sorted((ROOT / "dashboards").glob("*.yml")):
            text = "\n".join(line.split(" #")[0] for line in path.read_text().splitlines()
                             if not line.lstrip().startswith("#"))
            names = [name for name in METRIC.findall(text) if name != "flowrun_"]
            with self.subTest(file=path.name):
                self.assertEqual([name for name in names if name not in self.series], [])

    def test_data_sources_are_the_variable(self):
        def walk(value):
            if isinstance(value, dict):
                if "datasource" in value:
                    yield value["datasource"]
                for inner in value.values():
                    yield from walk(inner)
            elif isinstance(value, list):
                for inner in value:
                    yield from walk(inner)
        for file, dashboard in self.dashboards.items():
            with self.subTest(file=file):
                self.assertIn("datasource", [variable["type"] for variable in dashboard["templating"]["list"]])
                self.assertEqual({json.dumps(source, sort_keys=True) for source in walk(dashboard)},
                                 {'{"type": "prometheus", "uid": "${datasource}"}'})

    def test_panels_have_distinct_ids_and_places(self):
        for file, dashboard in self.dashboards.items():
            with self.subTest(file=file):
                ids = [panel["id"] for panel in dashboard["panels"]]
                self.assertEqual(len(ids), len(set(ids)))
                taken = set()
                for panel in dashboard["panels"]:
                    place = panel["gridPos"]
                    cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                             for y in range(place["y"], place["y"] + place["h"])}
                    self.assertLessEqual(place["x"] + place["w"], 24)
                    self.assertFalse(taken & cells, panel["title"])
                    taken |= cells

    def test_the_test_itself_finds_faults(self):
        series = declared('X(flowrun_a_total, counter, "one, \\"two\\"", "node,op") \\\n'
                          'X(flowrun_h_seconds, histogram, "long " \\\n "help", "disk")')
        self.assertEqual(set(series), {"flowrun_a_total", "flowrun_h_seconds_bucket", "flowrun_h_seconds_sum",
                                       "flowrun_h_seconds_count"})
        self.assertEqual(faults_of('sum by (node) (rate(flowrun_a_total{op="x y=1",job=~"$job"}[1m]))', series), [])
        self.assertEqual(faults_of("sum by (disk, le) (rate(flowrun_h_seconds_bucket[1m]))", series, "{{disk}}"), [])
        self.assertEqual(faults_of("flowrun_b_total", series), ["no metric flowrun_b_total"])
        self.assertEqual(faults_of("flowrun_h_seconds", series), ["no metric flowrun_h_seconds"])
        self.assertEqual(faults_of('flowrun_a_total{disk="x"}', series), ["flowrun_a_total has no label disk"])
        self.assertEqual(faults_of("sum by (le) (flowrun_a_total)", series), ["no label le in flowrun_a_total"])
        self.assertEqual(faults_of("flowrun_a_total", series, "{{disk}}"), ["no label disk in flowrun_a_total"])


if __name__ == "__main__":
    unittest.main()
