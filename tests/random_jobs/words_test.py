#!/usr/bin/env python3
"""The random jobs would miss a new word of the language, and find an error and make it small."""

import argparse
import io
import re
import sys
import unittest
from contextlib import redirect_stdout
from unittest import mock

import expressions
import random_jobs
import runs
import words

FLOWRUN = ""


class words_test(unittest.TestCase):
    def test_a_new_word_would_be_missed(self):
        page = words.page(FLOWRUN)
        new = {
            "fold": page.replace("\n### sort\n", "\n### fold\n\nNew.\n\n### sort\n"),
            "sort.quick": page.replace("| `stable` |", "| `quick` | true or false | | New. |\n| `stable` |"),
            "join kind outer": page.replace("one of inner, left", "one of inner, outer, left"),
            "function sine": page.replace("| `sqrt(x)", "| `sine(x) → f64` | New. |\n| `sqrt(x)"),
            "aggregate median": page.replace("| `sum(x)`", "| `median(x)` | New. |\n| `sum(x)`"),
            "type u56": page.replace("u48 u64", "u48 u56 u64"),
            "operator **": page.replace("| `a * b  a / b", "| `a ** b  a * b  a / b"),
        }
        for word, changed in new.items():
            self.assertNotEqual(changed, page, word)
            self.assertEqual(set(words.of_page(changed)) - set(words.of_page(page)), {word})

    def test_a_word_that_is_never_drawn_fails(self):
        for more, expected in (["--all-words"], True), ([], False):
            options = random_jobs.parser().parse_args(["--flowrun", FLOWRUN, "--jobs", "1", *more])
            said = io.StringIO()
            with redirect_stdout(said):
                (_, _, failures), _ = random_jobs.run(options)
            self.assertIn("never drawn in 1 jobs", said.getvalue())
            self.assertEqual(failures > 0, expected)

    def test_what_is_left_out_is_there(self):
        self.assertEqual(set(words.EXCLUDED) - set(words.everything(FLOWRUN)), set())

    def test_every_option_of_a_run_is_drawn(self):
        said = set(re.findall(r"--[a-z][a-z-]+", runs.help_page(FLOWRUN).split("Examples:")[0]))
        self.assertEqual(
            said - set(runs.OPTIONS) - set(runs.OTHER_OPTIONS), set(), "draw them, or say in runs.py why not"
        )

    def test_an_error_is_found_and_made_small(self):
        options = random_jobs.parser().parse_args(
            ["--flowrun", FLOWRUN, "--jobs", "60", "--most-shown", "1", "--shrink", "150"]
        )
        # The mistake lies in the reference, which is as good as one in the program.
        said = io.StringIO()
        with mock.patch.dict(expressions.INTEGER_OPS, {"+": lambda a, b: a + b + 1}), redirect_stdout(said):
            (_, jobs, failures), _ = random_jobs.run(options)
        self.assertEqual(jobs, 60)
        self.assertGreater(failures, 0)
        nodes = [line for line in said.getvalue().splitlines() if '{"op"' in line]
        self.assertLessEqual(len(nodes), 4, said.getvalue())
        self.assertIn(" + ", said.getvalue())
        self.assertIn("--jobs 1 --seed", said.getvalue())


def main():
    global FLOWRUN
    parser = argparse.ArgumentParser()
    parser.add_argument("--flowrun", required=True)
    options, rest = parser.parse_known_args()
    FLOWRUN = options.flowrun
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
