#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs every benchmark program over stock MPI with full verification, and two over an MPI that corrupts a byte. What has several threads in
# MPI_Recv runs over Linnet: Open MPI 4.1.4's own pml ob1 ends such a receive before its data is there, or never (docs/performance/threads.md,
# "Stale data under pml ob1").

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("top_builddir", ".")) / "bench" / "mpi"
# Not named OMPI_MPICC: that variable tells Open MPI's mpicc which compiler to start, and it would start itself for ever.
MPIRUN = os.environ.get("LINNET_TEST_MPIRUN") or shutil.which("mpirun")
MPICC = os.environ.get("LINNET_TEST_MPICC") or shutil.which("mpicc")
PLUGIN = os.environ.get("LINNET_TEST_BUILT_PLUGIN")   # the folder of Linnet's component, where a process that is not sanitized can load it
STOCK = ("--mca", "pml", "ob1", "--mca", "btl", "vader,self")
LINNET = ("--mca", "pml", "cm", "--mca", "mtl", "linnet", "--mca", "mca_base_component_path", f"{PLUGIN}:SYSTEM_DEFAULT:USER_DEFAULT")
PIN = pathlib.Path(__file__).resolve().parents[1] / "tests" / "lab" / "pin"
needs_linnet = unittest.skipUnless(PLUGIN, "Linnet's component for Open MPI is not built, or sanitized")

# A receive that spoils the last byte of what arrived, below the program and above MPI.
CORRUPTER = """
#include <mpi.h>
int MPI_Recv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status)
{
    const int result = PMPI_Recv(data, count, type, source, tag, comm, status);
    if ((tag == 1 || (tag >= 100 && tag < 1000)) && count > 0)
        ((unsigned char*)data)[count - 1] ^= 0x40;
    return result;
}
"""


def mpirun(program, *args, ranks=2, limit=60, preload=None, over=STOCK, pin=False, yields=True):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    export = ["-x", f"LD_PRELOAD={preload}"] if preload else []
    return subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", *over, "--mca", "mpi_yield_when_idle", str(int(yields)), *export,
                           "-np", str(ranks), *([str(PIN)] if pin else []), str(BUILD / program), *args],
                          env=environment, capture_output=True, text=True, timeout=limit + 30, check=False)


class ProgramTest(unittest.TestCase):
    def rows(self, program, *args, ranks=2, **how):
        done = mpirun(program, "--seconds", "0.2", "--limit", "60", *args, ranks=ranks, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stdout.splitlines() if line.startswith('{"bench":')]
        self.assertEqual(len(lines), 1, done.stdout)
        report = json.loads(lines[0])
        self.assertEqual([r["rank"] for r in report["ranks"]], list(range(ranks)))
        return {(row["metric"], row["x"]): row["value"] for row in report["rows"]}, report

    def test_pingpong_reports_every_size_and_its_payload(self):
        rows, report = self.rows("pingpong", "--sizes", "1,9,64K,1M", "--verify")
        self.assertEqual({x for _, x in rows}, {1, 9, 65536, 1048576})
        self.assertTrue(all(v > 0 for v in rows.values()))
        self.assertEqual(report["ranks"][0]["sent"], [[1, *report["ranks"][1]["sent"][0][1:]]])

    def test_pingpong_walks_through_fresh_buffers(self):
        self.assertEqual(len(self.rows("pingpong", "--sizes", "8,1M", "--fresh", "--verify", "--arena", "16M")[0]), 2)

    def test_stream_in_every_mode(self):
        for mode, metric in (("oneway", "one-way"), ("twoway", "two-way"), ("rate", "message-rate")):
            with self.subTest(mode):
                rows, _ = self.rows("stream", "--mode", mode, "--sizes", "8,64K", "--verify")
                self.assertEqual(set(rows), {(metric, 8), (metric, 65536)})

    def test_stream_tells_processor_time(self):
        rows, _ = self.rows("stream", "--mode", "cpu", "--sizes", "1M", "--verify")
        self.assertEqual({metric for metric, _ in rows}, {"one-way", "user time", "system time", "interrupts and softirq, the sender's machine"})
        busy = rows[("user time", 1048576)] + rows[("system time", 1048576)]
        self.assertGreater(busy, 0)
        self.assertLess(busy, 4 * 1000 / rows[("one-way", 1048576)])  # two threads that poll; medians of parts need not add up to the whole

    def test_lost_tells_windows_and_what_is_above(self):
        # Each on a core of its own, and without yields: beside other work one that yields waits for a time slice of it at every message, one that does not
        # at the few between which a slice ends. The two rows are measured one after the other.
        apart = len(os.sched_getaffinity(0)) > 1
        rows, _ = self.rows("lost", "--seconds", "1", pin=apart, yields=not apart)
        self.assertLess(0, rows[("lone frame", 1)])
        self.assertLess(rows[("lone frame", 1)], rows[("window", 64)])
        for what, x in (("window", 64), ("lone frame", 1)):
            median, tenth = (rows[(f"{text}, {what}", x)] for text in ("a lost frame in it costs", "and one in ten of them"))
            self.assertLessEqual(0, median)
            self.assertLessEqual(median, tenth)

    def test_incast_from_three_ranks(self):
        rows, _ = self.rows("incast", "--sizes", "16K,1M", ranks=4)
        self.assertEqual({metric for metric, _ in rows}, {"incast", "longest stall"})
        rows, _ = self.rows("incast", "--sizes", "16K,1M", "--port-mbs", "117", ranks=4)
        self.assertEqual(len(rows), 6)
        for size in (16384, 1048576):
            self.assertAlmostEqual(rows[("share of the port", size)], rows[("incast", size)] / 117, places=3)

    def test_stream_with_two_pairs_and_fresh_buffers(self):
        self.assertEqual(len(self.rows("stream", "--sizes", "4K", "--fresh", "--arena", "16M", "--verify", ranks=4)[0]), 1)

    def test_burst_expected_and_unexpected(self):
        for mode in ("expected", "unexpected"):
            with self.subTest(mode):
                rows, _ = self.rows("burst", "--mode", mode, "--sizes", "4,256K", "--verify")
                self.assertEqual(len(rows), 6)
                self.assertGreater(rows[("sender CPU per message", 262144)], 0)

    def test_fig10_waits_less_than_it_takes(self):
        rows, _ = self.rows("fig10", "--sizes", "64K", "--increments", "100K", "--verify")
        self.assertLess(rows[("wait, 100000 increments", 65536)], rows[("total, 100000 increments", 65536)])

    def test_fig10_measures_the_transfer_alone_for_each_size(self):
        rows, _ = self.rows("fig10", "--sizes", "4K,64K", "--increments", "1K,1M", "--verify")
        self.assertEqual({x for metric, x in rows if metric == "transfer alone"}, {4096, 65536})
        self.assertEqual({m for m, _ in rows if m.startswith("wait")}, {"wait, 1000 increments", "wait, 1M increments"})
        self.assertTrue(all(v > 0 for v in rows.values()), rows)

    @needs_linnet
    def test_mt_latency_with_receivers_in_any_order(self):
        for mode in ("ordered", "shuffled"):
            with self.subTest(mode):
                rows, report = self.rows("mt_latency", "--mode", mode, "--threads", "1,5", "--sizes", "8,5000", "--verify", over=LINNET)
                self.assertEqual(set(rows), {(f"half-round-trip, {size} B", n) for size in (8, 5000) for n in (1, 5)})
                self.assertTrue(all(v > 0 for v in rows.values()))
                self.assertEqual(report["ranks"][0]["sent"], [[1, *report["ranks"][1]["sent"][0][1:]]])

    @needs_linnet
    def test_mt_latency_walks_through_fresh_buffers(self):
        rows, _ = self.rows("mt_latency", "--threads", "3", "--sizes", "64K", "--fresh", "--verify", "--arena", "16M", over=LINNET)
        self.assertEqual(len(rows), 1)

    def test_mt_latency_refuses_what_it_cannot_do(self):
        for wrong in (["--mode", "backwards"], ["--threads", "0"], ["--threads", "513"]):
            with self.subTest(wrong):
                self.assertNotEqual(mpirun("mt_latency", *wrong).returncode, 0)

    def test_iallreduce_with_and_without_tests(self):
        for ranks in (2, 3):
            rows, _ = self.rows("iallreduce", "--sizes", "16,64K", "--compute-ms", "0.2", "--tests", "0,5", "--verify", ranks=ranks)
            self.assertEqual(set(rows), {(f"{what}, {n} MPI_Test", size) for what in ("hidden", "Tcomp", "Tcomm", "Tboth") for n in (0, 5)
                                         for size in (16, 65536)})

    def test_overlap_of_each_side(self):
        rows, _ = self.rows("overlap", "--sizes", "64K", "--compute-ms", "0.5", "--verify")
        self.assertEqual({m for m, _ in rows if m.startswith("hidden")},
                         {f"hidden, computing on {side}" for side in ("sender", "receiver", "both")})

    def test_overlap_tells_what_it_takes_of_cores_of_their_own(self):
        args = ("overlap", "--sizes", "64K", "--compute-ms", "0.5", "--mode", "both")
        for pin in (False, True):
            rows, report = self.rows(*args, pin=pin and len(os.sched_getaffinity(0)) > 1)
            cpu = {metric.partition(",")[0] for metric, _ in rows if metric.startswith("CPU")}
            if any("several cores" in note for note in report["notes"]):
                self.assertEqual(cpu, set())
            else:
                self.assertEqual(cpu, {"CPU with overlap to without", "CPU with overlap", "CPU without", "CPU of the transfer"})
                self.assertGreater(rows[("CPU without, computing on both", 65536)], 500)   # half a millisecond of each core

    def test_idle_ranks_are_counted(self):
        rows, _ = self.rows("idle", ranks=6)
        self.assertEqual({x for _, x in rows}, {4})
        self.assertEqual(len(rows), 4)
        self.assertGreater(rows[("CPU of an empty poll", 4)], 0)

    def test_collectives_check_every_operation(self):
        rows, report = self.rows("collectives", "--sizes", "16,4K", "--verify", ranks=3)
        self.assertEqual(len(rows), 9 * 2 + 1)
        self.assertEqual(report["notes"], [])

    def test_collectives_say_what_they_skip(self):
        rows, report = self.rows("collectives", "--sizes", "16,1M", "--memory", "2M", "--ops", "Bcast,Alltoall")
        self.assertEqual(set(rows), {("Alltoall", 16), ("Bcast", 16), ("Bcast", 1 << 20)})
        self.assertIn("Alltoall of 1048576 bytes skipped", report["notes"][0])

    def test_collectives_without_mpi(self):   # within a host; the sockets between hosts run in bench/compare alone, which checks the same
        rows, report = self.rows("collectives", "--mode", "bare", "--sizes", "16,64K,1M", "--verify", ranks=4)
        self.assertEqual(set(rows), {(op, size) for op in ("Allreduce", "Alltoall", "Bcast") for size in (16, 65536)} | {("Barrier", 0)})
        self.assertTrue(all(v > 0 for v in rows.values()), rows)
        self.assertEqual(len([note for note in report["notes"] if "too long for --mode bare" in note]), 3)
        self.assertNotEqual(mpirun("collectives", "--mode", "bare", "--sizes", "16", ranks=3).returncode, 0)

    def test_blocked_reports_shares(self):
        rows, _ = self.rows("blocked", "--compute-ms", "50")
        self.assertTrue(all(0 <= share < 2 for share in rows.values()), rows)

    def test_a_wrong_option_is_refused(self):
        self.assertNotEqual(mpirun("pingpong", "--sizes", "8Q").returncode, 0)

    def test_a_run_beyond_its_limit_ends(self):
        done = mpirun("pingpong", "--seconds", "100", "--limit", "1", "--sizes", "8")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("time limit", done.stderr)

    def corrupted(self, *program, over=STOCK):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "corrupt.c"
            source.write_text(CORRUPTER, encoding="utf-8")
            library = source.with_suffix(".so")
            subprocess.run([MPICC, "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60)
            for extra in ([], ["--verify"]):
                with self.subTest(extra=extra):
                    done = mpirun(*program, "--sizes", "4K", "--seconds", "0.1", *extra, preload=library, over=over)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("wrong payload at byte 4088 of 4096", done.stderr)

    def test_corrupted_payload_fails_the_run(self):
        self.corrupted("pingpong")

    @needs_linnet
    def test_payload_corrupted_in_one_of_several_threads_fails_the_run(self):
        self.corrupted("mt_latency", "--threads", "3", over=LINNET)


if __name__ == "__main__":
    if not (MPIRUN and MPICC and (BUILD / "pingpong").exists()):
        print("skipped: no Open MPI, or the programs are not built")
        sys.exit(77)
    unittest.main()
