#!/usr/bin/env python3
"""Everything that users can write or see is documented, in words: operators, parameters, functions, commands, options,
exit codes, metrics. And pages are found: from docs/README.md, by links that lead somewhere."""

import importlib.machinery
import importlib.util
import re

import flowrun_process
from flowrun_process import ROOT, main, process_test


def loaded(path):
    loader = importlib.machinery.SourceFileLoader("command_reference", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page):
    """Of the headings, as the web pages of repositories name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    return [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text()))
        if not target.startswith(("http:", "https:", "mailto:"))
    ]


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


class documented_test(process_test):
    def assert_words(self, what, text):
        self.assertRegex(text, r"\w", f"{what}: nothing says what it is for")

    def test_operators_and_their_parameters(self):
        reference = (ROOT / "specs/REFERENCE.md").read_text()
        operators = [line.split(None, 1) for line in self.flowrun("ops").stdout.splitlines() if line.strip()]
        self.assertGreater(len(operators), 30)
        parameters = 0
        for name, summary in operators:
            self.assert_words(name, summary)
            section = reference.split(f"\n### {name}\n")[1].split("\n### ")[0].split("\n## ")[0]
            self.assertIn("```yaml", section, f"{name} has no example")
            for row in re.findall(r"^\| `.*$", section, re.MULTILINE):
                parameter, value, _, meaning = cells(row)
                self.assert_words(f"{name}, {parameter}", meaning)
                self.assertNotEqual(value, "", f"{name}, {parameter}: nothing says what a value looks like")
                parameters += 1
        self.assertGreater(parameters, 100)

    def test_functions_and_aggregates(self):
        reference = (ROOT / "specs/REFERENCE.md").read_text()
        for heading, least in (("Operators, the tightest first", 8), ("Functions", 60), ("Aggregates", 8)):
            section = reference.split(f"\n### {heading}\n")[1].split("\n### ")[0].split("\n## ")[0]
            rows = [cells(row) for row in re.findall(r"^\| `.*$", section, re.MULTILINE)]
            self.assertGreater(len(rows), least, heading)
            for row in rows:
                self.assert_words(row[0], row[-1])

    def test_commands_options_exit_codes_and_metrics(self):
        page = (ROOT / "docs/commands.md").read_text()
        # One text is compared, not two: a difference in thousands of lines helps nobody.
        written = loaded(ROOT / "tools/command-reference").page(flowrun_process.FLOWRUN)
        self.assertTrue(page == written, "docs/commands.md is out of date: `make reference` writes it")
        rows = [cells(row) for row in re.findall(r"^\| [^|\-].*$", page, re.MULTILINE)]
        self.assertGreater(len(rows), 150)
        for row in rows:
            for meaning in row[1:]:
                self.assert_words(row[0], meaning)
        for metric in re.findall(r"^\w+", self.flowrun("metrics").stdout, re.MULTILINE):
            self.assertRegex(page, rf"`{metric}\b")


class pages_test(process_test):
    def pages(self):
        return [
            *sorted((ROOT / "docs").rglob("*.md")),
            *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "specs/REFERENCE.md")),
            *(ROOT / name for name in ("specs/jobs/README.md", "python/README.md")),
        ]

    def test_links_lead_somewhere(self):
        for page in self.pages():
            for target in links(page):
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                self.assertTrue(file.exists(), f"{page.relative_to(ROOT)}: {target} is not there")
                if anchor and file.suffix == ".md":
                    self.assertIn(anchor, anchors(file), f"{page.relative_to(ROOT)}: {target}")

    def test_every_page_is_found_from_the_index(self):
        found, left = set(), [ROOT / "docs/README.md"]
        while left:
            page = left.pop()
            if page in found:
                continue
            found.add(page)
            for target in links(page):
                file = (page.parent / target.partition("#")[0]).resolve()
                if file.is_dir():  # a link to a folder shows its pages
                    left += file.glob("*.md")
                elif file.suffix == ".md":
                    left.append(file)
        pages = set((ROOT / "docs").rglob("*.md"))
        self.assertEqual({str(page.relative_to(ROOT)) for page in pages - found}, set())


if __name__ == "__main__":
    main()
