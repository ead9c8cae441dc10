#!/usr/bin/env python3
"""Which reports of the thread sanitizer count."""

import unittest

from data_races import own_races

OURS = "    #1 flowrun::exec::pipeline::work() ../../engine/exec/pipeline.cc:167 (flowrun+0xabcc8e)\n"
TBB = "    #1 <null> <null> (libtbb.so.12+0x180b4)\n"
RACY = "    #0 operator() ../../tests/plugin/faulty_operators.cc:110 (faulty.so+0x1f)\n"
FREED = "    #0 operator delete[](void*) tsan_new_delete.cpp:132 (libtsan.so.2+0x8699d)\n"
COMPARED = "    #0 memcmp sanitizer_common_interceptors.inc:891 (libtsan.so.2+0x63d04)\n"


def race(first, second, how="Previous read"):
    return (f"==================\nWARNING: ThreadSanitizer: data race (pid=7)\n  Write of size 8 at 0x7b20 by thread T6:\n{first}\n"
            f"  {how} of size 8 at 0x7b20 by thread T4:\n{second}\n  Thread T6 (tid=9, running) created by main thread at:\n{OURS}\n")


class own_races_test(unittest.TestCase):
    def count(self, text, expected):
        self.assertEqual(len(own_races(text)), expected, text)

    def test_between_accesses_of_onetbb(self):
        self.count(race(FREED + TBB, COMPARED + TBB), 0)
        self.count(race(FREED + TBB + OURS, COMPARED + TBB + OURS), 0)  # it was called by us

    def test_ours(self):
        self.count(race(FREED + OURS, COMPARED + OURS), 1)
        for how in ("Previous read", "Previous write", "Previous atomic write"):
            self.count(race(FREED + TBB, COMPARED + OURS, how), 1)
            self.count(race(FREED + OURS, COMPARED + TBB, how), 1)
        self.count(race(OURS + TBB, TBB + OURS), 1)  # a task, run by oneTBB

    def test_several(self):
        self.count(race(FREED + TBB, COMPARED + TBB) + race(FREED + OURS, TBB) + "ThreadSanitizer: reported 2 warnings\n", 1)

    def test_on_purpose(self):
        self.count(race(RACY + OURS, RACY + OURS), 0)
        self.count(race(COMPARED + RACY + OURS, "    [failed to restore the stack]\n"), 0)
        self.count(race(OURS + RACY, OURS + RACY), 1)  # it has called us
        leak = "WARNING: ThreadSanitizer: thread leak (pid=7)\n  Thread T1 (tid=8, finished) created at:\n    #0 pthread_create\n"
        place = "    #3 run_planned ../../runner/%s.cc:197 (flowrun+0x7)\n"
        self.count(leak + place % "plugin_trial", 0)
        self.count(leak + place % "run", 1)

    def test_other_kinds(self):
        self.count("WARNING: ThreadSanitizer: thread leak (pid=7)\n  Thread T1 (tid=8, finished) created at:\n" + TBB, 1)
        self.count(race(FREED + TBB, "    [failed to restore the stack]\n"), 1)
        self.count("", 0)


if __name__ == "__main__":
    unittest.main()
