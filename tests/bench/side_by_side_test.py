#!/usr/bin/env python3
"""How contestants take turns, and what pairs of runs say: the ratio stays where the speed of the machine doesn't."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import side_by_side  # noqa: E402


class turns(unittest.TestCase):
    def test_every_second_round_goes_backwards(self):
        order = []
        side_by_side.in_turn({name: lambda name=name: order.append(name) for name in "abc"}, 3)
        self.assertEqual("".join(order), "abccbaabc")

    def test_peers_that_are_not_installed_are_left_out(self):
        times = side_by_side.measured("sum", {"a": lambda: (1.0, 5.0), "b": lambda: None}, 2)
        self.assertEqual(times, {"a": [1.0, 1.0]})


class pairs(unittest.TestCase):
    def test_intervals(self):
        # As tables of the sign test have them: which of the smallest and largest values bound the median with 95 %.
        for count, first, last in ((1, 1, 1), (5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (20, 6, 15),
                                   (25, 8, 18), (100, 40, 61), (101, 41, 61)):
            with self.subTest(count=count):
                found = side_by_side.middle_of(range(count, 0, -1))
                self.assertEqual((found.median, found.low, found.high), ((count + 1) / 2, first, last))

    def test_a_machine_that_gets_slower(self):
        speed = iter(range(1, 1000))  # a pair is (1, 2), (4, 3), (5, 6) … times as slow as at first
        both = side_by_side.compare("work", lambda: (1.0 * next(speed), ""), lambda: (1.1 * next(speed), ""), 101)
        self.assertAlmostEqual(both.ratio.median, 1.1, delta=0.01)
        self.assertLess(both.ratio.low, both.ratio.median)
        self.assertGreater(both.ratio.high, both.ratio.median)

    def test_results_must_be_equal(self):
        with self.assertRaisesRegex(SystemExit, "work: the results differ"):
            side_by_side.compare("work", lambda: (1.0, "one"), lambda: (1.0, "another"), 3)


if __name__ == "__main__":
    unittest.main()
