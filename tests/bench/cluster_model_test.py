#!/usr/bin/env python3
"""What must hold of the model of a cluster whatever its constants are, some of its figures by hand, and that its page
is as the model writes it."""
import math
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cluster_constants  # noqa: E402
import cluster_measure  # noqa: E402
import cluster_model as model  # noqa: E402
import cluster_page  # noqa: E402
from cluster_constants import GB, GIB, MIB, TB, constants  # noqa: E402

# Of what doesn't grow with the data.
ONLY_BYTES = {"start_seconds": 0, "read_seconds": 0, "seek_seconds": 0, "bound_bytes": 0, "frame_bytes": 1e-6,
              "index_entry": 0, "sample_bytes": 0, "sample_every": 1e-6, "samples_of_file": 1e30,
              "samples_of_driver": 1e30,
              "session_seconds": 0, "commit_seconds": 0, "memory": 1e18}
DISKS_BIND = {"network": 1e15, "run_seconds": 1e-6, "merge_seconds": 1e-6, "read_seconds": 0,
              "memory": 1e18, "start_seconds": 0}
SHAPES = [model.shape(tasks, per_node, levels, by_driver) for tasks, per_node in ((512, 1), (4096, 8), (8192, 16))
          for levels in (1, 2) for by_driver in (True, False)]


class invariants(unittest.TestCase):
    def test_twice_the_data_takes_the_stages_twice_as_long(self):
        for change in ({}, {"outside_read": 3 * GB, "outside_write": 2 * GB}, {"is_remote": 1}):
            c = constants(**ONLY_BYTES | change)
            for how in SHAPES:
                for nodes in (8, 64, 512):
                    once, twice = (model.predict(c, n * TB, nodes, how) for n in (5, 10))
                    with self.subTest(how=how, nodes=nodes, change=change):
                        self.assertGreater(once.runs, 0)
                        self.assertAlmostEqual(twice.runs / once.runs, 2)
                        self.assertAlmostEqual(twice.merges / once.merges, 2)
                        self.assertAlmostEqual(twice.range_bytes / once.range_bytes, 2)

    def test_what_is_spilled_grows_with_the_data(self):
        c = constants()
        found = [model.spilled_share(c, n * TB, 64, 96 * GIB) for n in (1, 2, 3, 5, 10, 100, 10**6)]
        self.assertEqual(found, sorted(found))
        self.assertEqual(found[0], 0)
        self.assertAlmostEqual(found[-1], 1, places=3)

    def test_more_nodes_are_never_slower_while_disks_bind(self):
        c = constants(**DISKS_BIND)
        for how in SHAPES:
            with self.subTest(how=how):
                found = [model.predict(c, 10 * TB, nodes, how) for nodes in cluster_page.NODES]
                for p in found:
                    self.assertEqual(set(p.busiest), {"disks"})
                for few, many in zip(found, found[1:]):
                    self.assertLessEqual(many.runs, few.runs)
                    self.assertLessEqual(many.merges, few.merges)
        best = [model.best(c, 10 * TB, nodes, by_driver=False).seconds for nodes in cluster_page.NODES]
        self.assertEqual(best, sorted(best, reverse=True))

    def test_a_last_wave_takes_as_long_as_a_full_one(self):
        self.assertEqual(model.shape(17, 2).waves(8), 2)
        self.assertAlmostEqual(model.shape(17, 2).idle(8), 32 / 17)
        self.assertEqual(model.shape(32, 2).idle(8), 1)
        c = constants(**DISKS_BIND)
        pieces = [model.predict(c, tasks * GB, 8, model.shape(tasks, 2)).runs for tasks in (17, 32)]
        self.assertAlmostEqual(*pieces)

    def test_nothing_takes_no_time_but_starts(self):
        c = constants()
        for how in SHAPES:
            p = model.predict(c, 0, 64, how)
            with self.subTest(how=how):
                waves = how.waves(64)
                self.assertAlmostEqual(p.runs, waves * c.start_seconds * c.straggle)
                self.assertEqual((p.spilled, p.driver_memory, p.room, p.range_bytes), (0, 0, 0, 0))
                self.assertLess(set(p.limits), {"buffers", "cuts"})
        free = constants(**ONLY_BYTES)
        p = model.predict(free, 0, 64, model.shape(64, 1, 1, False))
        self.assertAlmostEqual(p.seconds, 0, places=6)

    def test_a_single_node_needs_no_network(self):
        self.assertEqual(model.load(read=GB, written=GB).seconds(constants(), 1)["network"], 0)

    def test_a_faster_machine_is_never_slower(self):
        for nodes in (8, 512):
            for by_driver in (True, False):
                for name, half, twice in model.sensitivity(constants(), 10 * TB, nodes, by_driver):
                    if name in ("samples_of_file", "samples_of_driver", "sample_every", "frame_bytes"):
                        continue  # a layout, no machine: more samples are more to read, and less to probe
                    with self.subTest(name=name, nodes=nodes, by_driver=by_driver):
                        self.assertLessEqual(min(half, twice), 1 + 1e-9)
                        self.assertGreaterEqual(max(half, twice), 1 - 1e-9)


class by_hand(unittest.TestCase):
    def test_a_stage(self):
        # 8 TB on 8 nodes, from and to their disks: 1 TB for each to read at 2 GB/s and to write at 1 GB/s, no samples.
        c = constants(disk_read=2 * GB, disk_write=1 * GB, network=10 * GB, run_seconds=1, cores=10, task_threads=10,
                      sample_bytes=0, index_entry=0, memory=1e18, start_seconds=2, straggle=1)
        took = model.run_load(c, 8 * TB, model.shape(16, 1), 0).seconds(c, 8)
        self.assertAlmostEqual(took["disks"], 500 + 1000)
        self.assertAlmostEqual(took["processors"], 100)
        self.assertAlmostEqual(took["network"], 2000 * 7 / 8 / 10)
        # Two waves of starts; half spilled moves half of it once more.
        self.assertAlmostEqual(model.predict(c, 8 * TB, 8, model.shape(16, 1)).runs, 1500 + 2 * 2)
        self.assertAlmostEqual(model.run_load(c, 8 * TB, model.shape(16, 1), 0.5).seconds(c, 8)["disks"], 2250)

    def test_indices(self):
        # 1 TB in frames of 240,000 bytes: 24 bytes of each are 100 MB of indices; 100 tasks read 100 times that.
        c = constants(index_entry=24, frame_bytes=240e3, bound_bytes=0)
        self.assertAlmostEqual(model.merge_load(c, TB, model.shape(100, 1)).unstored / GB, 10)
        # Of two levels, a task reads ten runs' indices.
        self.assertAlmostEqual(model.merge_load(c, TB, model.shape(100, 1, 2)).unstored / GB, 1)

    def test_samples_and_probes(self):
        # 16 runs of 2^34 bytes: 2^20 frames in all, 2^17 samples, 8 frames between two of them.
        c = constants(frame_bytes=2**18, samples_of_file=2**13, samples_of_driver=2**22, sample_every=2**12)
        self.assertEqual(model.samples_of_driver(c, 2**38, 16), 2**17)
        self.assertEqual(model.frames_of_cuts(c, 2**38, 16, 16), 16 * 15 * (1 + 3))
        # 2^12 runs have 2^25 samples, of which the driver keeps 2^22; it isn't more with more data.
        self.assertEqual(model.samples_of_driver(c, 2**42, 2**12), 2**22)
        self.assertEqual(model.samples_of_driver(c, 2**46, 2**12), 2**22)
        # Short runs have one sample for each 4 KiB, and nothing is probed.
        self.assertEqual(model.samples_of_driver(c, 2**28, 16), 2**16)
        self.assertEqual(model.probes(c, 2**28, 16), 0)
        # Tasks that find their own rows look for both ends of 256 ranges.
        tasks, driver = (model.merge_load(c, 2**38, model.shape(16, 1, 1, d)) for d in (False, True))
        self.assertEqual(tasks.ranges - driver.ranges, 2 * 256 * 3)
        self.assertEqual(tasks.read - driver.read, 2 * 256 * 3 * 2**18)

    def test_ranges_and_frames(self):
        # 16 tasks, 256 reads of 4 GB / 256; each reads a frame more, which is as long as 1 MB here.
        c = constants(frame_bytes=1e6)
        work = model.merge_load(c, 4 * GB, model.shape(16, 1, 1, False))
        self.assertEqual(work.ranges, 256)
        self.assertAlmostEqual(work.read, 4 * GB + 256e6)
        # Where frames are longer than runs, a task reads whole runs, no more.
        self.assertAlmostEqual(model.merge_load(constants(frame_bytes=1e12), 4 * GB, model.shape(16, 1, 1, False)).read,
                               16 * 4 * GB)
        self.assertEqual(model.merge_load(c, 4 * GB, model.shape(16, 1, 2, False)).ranges, 64)

    def test_where_one_level_ends(self):
        # 1 TB = 953,674.3 MiB: 976.6 squared, 98.43 cubed. 976 tasks read ranges of 1.001 MiB, 977 of 0.999.
        c = constants(least_range=MIB)
        self.assertAlmostEqual(model.most_tasks(c, TB), 976.56, places=1)
        self.assertAlmostEqual(model.most_tasks(c, TB, 2), 98.43**2, delta=2)
        self.assertAlmostEqual(model.most_tasks(c, 100 * TB), 9765.6, places=1)
        for tasks, enough in ((976, True), (977, False)):
            self.assertEqual(model.shape(tasks, 1).range_bytes(TB) >= MIB, enough)
        for tasks, enough in ((9687, True), (9689, False)):
            self.assertEqual(model.shape(tasks, 1, 2).range_bytes(TB) >= MIB, enough)

    def test_most_input_without_scratch(self):
        # 2 GiB that hold pieces of 1 GiB: 1,024 of them, each of 1,024 ranges of 1 MiB, are 1 TiB; with two levels,
        # 1,024 times as much.
        c = constants(sort_memory=2, least_range=MIB)
        self.assertAlmostEqual(model.most_bytes_in_memory(c, 2 * GIB), 2**40)
        self.assertAlmostEqual(model.most_bytes_in_memory(c, 2 * GIB, 2), 2**50)
        for levels in (1, 2):
            most = model.most_bytes_in_memory(c, 2 * GIB, levels)
            self.assertAlmostEqual(most / model.most_tasks(c, most, levels), GIB, delta=10)

    def test_the_driver(self):
        # 4 GB are 2^20 samples, of 20 doublings, and 16 tasks look into a frame of 16 runs for 15 cuts.
        c = constants(sample_every=4e9 / 2**20, sample_seconds=1e-6, sample_bytes=0, frame_seconds=1e-3, latency=1e-3,
                      network=1e18, sample_memory=200, driver_memory=100 * 2**20,
                      samples_of_file=1e9, samples_of_driver=1e9, index_entry=0)
        took = model.cut_seconds(c, 4e9, model.shape(16, 1), 4)
        self.assertAlmostEqual(took, 20 * 2**20 * 1e-6 + 16 * 15 * 2e-3)
        p = model.predict(c, 4e9, 4, model.shape(16, 4))
        self.assertAlmostEqual(p.driver_memory, 200 * 2**20 + 16 * c.frame_bytes)
        self.assertEqual(p.limits, ["driver"])

    def test_costs(self):
        hour = model.prediction(model.shape(1, 1), start=600, runs=1200, cuts=300, merges=900, end=600)
        self.assertAlmostEqual(hour.cost(constants(price=2), 9), 20)  # nine nodes and the driver

    def test_limits(self):
        c = constants(run_memory=MIB, memory=32 * GIB, memory_share=0.5, bound_bytes=4, disk_room=3 * TB)
        self.assertIn("buffers", model.predict(c, TB, 1024, model.shape(2**15, 16)).limits)  # 32 GiB; a task has 1
        self.assertNotIn("buffers", model.predict(c, TB, 1024, model.shape(2**10, 16)).limits)
        self.assertIn("cuts", model.predict(c, TB, 1024, model.shape(2**15, 1)).limits)
        self.assertNotIn("cuts", model.predict(c, TB, 1024, model.shape(2**14, 1)).limits)
        self.assertIn("room", model.predict(c, 2 * TB, 1, model.shape(64, 1)).limits)
        self.assertNotIn("room", model.predict(c, 0.5 * TB, 1, model.shape(64, 1)).limits)

    def test_published_ways(self):
        spsort, tencent, exoshuffle = ((p, p.own_seconds(constants(**p.hardware))) for p in cluster_constants.PUBLISHED)
        self.assertAlmostEqual(spsort[1], 1000 / 2.8 + 1000 / 2.25)
        self.assertAlmostEqual(tencent[1], 195.3125 / 10 + 195.3125 / 4.8)
        self.assertAlmostEqual(exoshuffle[1], 5000 / 1.25 + 2500 / 1.25)
        # Nobody is faster than his bandwidths, where they are his own.
        self.assertLess(spsort[1], spsort[0].seconds)
        self.assertLess(tencent[1], tencent[0].seconds)


class fitting(unittest.TestCase):
    def test_equations(self):
        rows = [[1, 2, 0], [0, 1, 5], [3, 0, 1], [1, 1, 1], [2, 7, 3]]
        found = cluster_measure.solved(rows, [sum(a * x for a, x in zip(row, (2, -3, 0.5))) for row in rows])
        for value, wanted in zip(found, (2, -3, 0.5)):
            self.assertAlmostEqual(value, wanted)
        self.assertAlmostEqual(cluster_measure.solved([[1], [1], [1]], [1, 2, 6])[0], 3)  # the mean

    def test_constants_come_back(self):
        """Runs that behave as the model says give its constants."""
        c = constants()
        runs = {}
        for size in (GB / 4, GB):
            for tasks in cluster_measure.TASKS:
                samples = model.samples_of_driver(c, size, tasks)
                cpu = (size / GB * c.run_seconds + tasks * c.start_seconds,
                       size / GB * c.merge_seconds + tasks**2 * c.read_seconds + tasks * c.start_seconds)
                cut = (samples * math.log2(samples) * c.sample_seconds
                       + model.frames_of_cuts(c, size, tasks, tasks) * c.frame_seconds)
                runs[size, tasks] = [types.SimpleNamespace(
                    cpu=cpu, wall=[x / cluster_measure.WIDTH for x in cpu], cut=cut,
                    memory=0)]
        for name, value in cluster_measure.fitted(runs).items():
            with self.subTest(name=name):
                self.assertAlmostEqual(value / cluster_constants.TABLE[name].value, 1, places=4)


class the_page(unittest.TestCase):
    def test_it_is_as_the_model_writes_it(self):
        self.assertTrue(cluster_page.PAGE.read_text() == cluster_page.page(),
                        "docs/design/cluster-model.md is out of date: tests/bench/cluster_model.py --page writes it")

    def test_constants_say_where_they_are_from(self):
        for name, each in cluster_constants.TABLE.items():
            self.assertTrue(each.what and each.source, name)
        with self.assertRaises(KeyError):
            constants(no_such=1)
        self.assertEqual(constants(cores=3).cores, 3)


if __name__ == "__main__":
    unittest.main()
