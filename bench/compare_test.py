#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Tests of the comparison: statistics, claims, proof of path, and turns that must fail. Needs no MPI and no lab.

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from lib import claims, distance, lab, measurements, proof, quiet, runner, stacks, stats  # noqa: E402  (path set above)
from report import picture, table  # noqa: E402

MB = 1 << 20


class SummaryTest(unittest.TestCase):
    def test_reports_median_and_spread(self):
        self.assertEqual(stats.summary([5.0, 1.0, 3.0, 100.0]),
                         {"n": 4, "median": 4.0, "mad": 2.0, "min": 1.0, "max": 100.0})


class RatiosTest(unittest.TestCase):
    def test_pairs_turns_so_that_a_common_slow_minute_cancels(self):
        points, mean = stats.ratios({8: [2.0, 20.0, 2.0]}, {8: [4.0, 40.0, 4.0]})
        self.assertEqual(points[8], stats.Interval(0.5, 0.5, 0.5))
        self.assertAlmostEqual(mean.point, 0.5)

    def test_geometric_mean_is_over_the_common_points(self):
        _, mean = stats.ratios({1: [2.0], 2: [1.0], 3: [7.0]}, {1: [1.0], 2: [8.0]})
        self.assertAlmostEqual(mean.point, 0.5)  # sqrt(2 * 1/8)

    def test_interval_covers_the_estimate_and_repeats(self):
        left = {8: [1.0, 1.2, 0.9, 1.1, 3.0]}
        right = {8: [1.0, 1.0, 1.0, 1.0, 1.0]}
        first, second = stats.ratios(left, right)[0][8], stats.ratios(left, right)[0][8]
        self.assertEqual(first, second)
        self.assertEqual((first.low, first.point, first.high), (0.9, 1.1, 3.0))

    def test_values_that_are_not_positive_have_no_ratio(self):
        self.assertEqual(stats.ratios({8: [0.0, 1.0]}, {8: [1.0, 1.0]}), ({}, None))

    def test_a_missing_turn_has_no_ratio(self):
        self.assertEqual(stats.ratios({8: [1.0]}, {8: [1.0, 1.0]}), ({}, None))


class ClaimParserTest(unittest.TestCase):
    def test_reads_factor_range_and_statistic(self):
        claim = claims.Claim.parse("linnet-tcp<=0.95*btl_tcp:geomean:8-64K")
        self.assertEqual((claim.left.stack, claim.right.stack, claim.op, claim.bound), ("linnet-tcp", "btl_tcp", "<=", 0.95))
        self.assertEqual((claim.statistic, claim.sure, claim.low, claim.high), ("geomean", False, 8, 65536))

    def test_reads_points_of_a_stack(self):
        claim = claims.Claim.parse("linnet@126 <= 1.02*linnet@0:median-sure::half-round-trip, 8 B")
        self.assertEqual((claim.left.point, claim.right.point, claim.sure, claim.metric),
                         (126, 0, True, "half-round-trip, 8 B"))

    def test_reads_a_number_instead_of_a_stack(self):
        claim = claims.Claim.parse("linnet>=0.95:worst::hidden")
        self.assertIsNone(claim.right)
        self.assertEqual((claim.bound, claim.low, claim.metric), (0.95, 0, "hidden"))

    def test_open_ranges(self):
        self.assertEqual(claims.Claim.parse("a<=b:worst:2M-").low, 2 * MB)
        self.assertEqual(claims.Claim.parse("a<=b:worst:-1K").high, 1024)
        self.assertEqual((claims.Claim.parse("a<=b:worst:16").low, claims.Claim.parse("a<=b:worst:16").high), (16, 16))

    def test_refuses_what_it_does_not_understand(self):
        for text in ("linnet<=btl_tcp", "linnet=btl_tcp:worst", "linnet<=2*:worst", "linnet<=btl_tcp:mean",
                     "linnet@1<=btl_tcp:worst", "linnet<=btl_tcp:worst:x"):
            with self.subTest(text), self.assertRaises(claims.ClaimError):
                claims.Claim.parse(text)


class ClaimTest(unittest.TestCase):
    DATA = {"a": {"time": {8: [1.0, 1.0, 1.0], 1024: [3.0, 3.0, 9.0]}, "hidden, sender": {1: [0.9, 0.96, 0.97]}},
            "b": {"time": {8: [2.0, 2.0, 2.0], 1024: [2.0, 2.0, 2.0]}, "hidden, sender": {1: [-0.2, 0.0, 0.1]}}}

    def verdict(self, text, main=("time",)):
        found = claims.evaluate(claims.Claim.parse(text), self.DATA, main)
        self.assertEqual(len(found), 1)
        return found[0]

    def test_geomean_holds_and_fails_at_its_value(self):
        self.assertAlmostEqual(self.verdict("a<=1*b:geomean")["measured"], 0.75 ** 0.5)
        self.assertTrue(self.verdict("a<=0.87*b:geomean")["holds"])
        self.assertFalse(self.verdict("a<=0.86*b:geomean")["holds"])

    def test_worst_looks_at_the_unfavourable_point_of_either_direction(self):
        self.assertEqual(self.verdict("a<=1.1*b:worst")["measured"], 1.5)
        self.assertEqual(self.verdict("a>=1.1*b:worst")["measured"], 0.5)

    def test_sure_takes_the_end_of_the_interval(self):
        self.assertEqual(self.verdict("a<=1.1*b:worst:1K")["measured"], 1.5)
        self.assertEqual(self.verdict("a<=1.1*b:worst-sure:1K")["measured"], 4.5)

    def test_the_range_excludes_points(self):
        self.assertTrue(self.verdict("a<=0.5*b:worst:8-512")["holds"])

    def test_points_of_one_stack_are_compared_turn_by_turn(self):
        self.assertEqual(self.verdict("a@1K<=3*a@8:median")["measured"], 3.0)
        self.assertFalse(self.verdict("a@1K<=2.9*a@8:median")["holds"])

    def test_numbers_bound_values_that_may_be_negative(self):
        self.assertTrue(self.verdict("a>=0.95:worst::hidden")["holds"])
        self.assertFalse(self.verdict("b>=0.95:worst::hidden")["holds"])

    def test_a_ratio_of_values_that_are_not_positive_is_an_error(self):
        with self.assertRaises(claims.ClaimError):
            self.verdict("a<=b:worst::hidden")

    def test_absent_data_is_an_error_and_never_holds(self):
        for text in ("c<=b:worst", "a<=c:worst", "a<=b:worst:1M-", "a<=b:worst::speed"):
            with self.subTest(text), self.assertRaises(claims.ClaimError):
                self.verdict(text)

    def test_each_matching_metric_is_judged(self):
        data = {"a": {"hidden, sender": {1: [1.0]}, "hidden, receiver": {1: [0.1]}}}
        found = claims.evaluate(claims.Claim.parse("a>=0.5:worst::hidden"), data)
        self.assertEqual([v["holds"] for v in found], [True, False])

    def test_counters_are_judged_only_by_their_full_name(self):
        data = {"a": {"time": {8: [1.0]}, "counter wakeups": {0: [0.5]}, "counter wakeups_empty": {0: [9.0]}}}
        found = claims.evaluate(claims.Claim.parse("a<=1:worst::counter wakeups"), data)
        self.assertEqual([(v["metric"], v["measured"]) for v in found], [("counter wakeups", 0.5)])
        self.assertEqual([v["metric"] for v in claims.evaluate(claims.Claim.parse("a<=1:worst"), data)], ["time"])
        with self.assertRaises(claims.ClaimError):
            claims.evaluate(claims.Claim.parse("a<=1:worst::counter wake"), data)


def rank(number, host, sent=(), must=(0, 0), pvars=None):
    return {"rank": number, "host": f"lab-{host}", "sent": list(sent), "must_tx": must[0], "must_rx": must[1],
            "pvars": pvars or {}}


def host_of(reported):
    return reported.removeprefix("lab-")


def counters(**hosts):
    """h0=(eth0 received, eth0 sent, lo) in bytes."""
    return {h: {"eth0": (rx, tx), "lo": (lo, lo)} for h, (rx, tx, lo) in hosts.items()}


ZERO = counters(h0=(0, 0, 0), h1=(0, 0, 0))
PING = [rank(0, "h0", [(1, 10 * MB, 1000)]), rank(1, "h1", [(0, 10 * MB, 1000)])]


def problems(ranks, after, stack="btl_tcp", place=stacks.HOSTS, before=ZERO):
    return proof.check(stacks.STACKS[stack], place, {"ranks": ranks}, before, after, host_of)


class ProofBetweenHostsTest(unittest.TestCase):
    def test_honest_traffic_passes(self):
        self.assertEqual(problems(PING, counters(h0=(11 * MB, 11 * MB, 9000), h1=(11 * MB, 11 * MB, 9000))), [])

    def test_only_the_growth_counts(self):
        before = counters(h0=(99 * MB, 99 * MB, 0), h1=(99 * MB, 99 * MB, 0))
        after = counters(h0=(100 * MB, 100 * MB, 0), h1=(100 * MB, 100 * MB, 0))
        self.assertEqual(len(problems(PING, after, before=before)), 4)

    def test_loopback_instead_of_the_interface_fails(self):
        found = problems(PING, counters(h0=(200_000, 200_000, 20 * MB), h1=(200_000, 200_000, 20 * MB)))
        self.assertTrue(any("eth0 sent" in p for p in found) and any("loopback" in p for p in found), found)

    def test_a_copy_over_loopback_besides_the_interface_fails(self):
        found = problems(PING, counters(h0=(11 * MB, 11 * MB, 10 * MB), h1=(11 * MB, 11 * MB, 0)))
        self.assertEqual(len(found), 1)
        self.assertIn("h0: the loopback interface", found[0])

    def test_one_direction_missing_fails(self):
        found = problems(PING, counters(h0=(11 * MB, 300_000, 0), h1=(300_000, 11 * MB, 0)))
        self.assertEqual(len(found), 2)

    def test_ranks_that_share_a_host_fail(self):
        ranks = [rank(0, "h0", [(1, 10 * MB, 1000)]), rank(1, "h0", [(0, 10 * MB, 1000)])]
        found = problems(ranks, counters(h0=(0, 0, 0), h1=(0, 0, 0)))
        self.assertIn("too little", found[0])

    def test_much_more_than_the_payload_fails(self):
        found = problems(PING, counters(h0=(11 * MB, 40 * MB, 0), h1=(40 * MB, 11 * MB, 0)))
        self.assertEqual(len(found), 2)

    def test_acknowledgements_are_allowed_for_as_counted(self):
        def ranks(frames):
            return [rank(0, "h0", [(1, 1000 * MB, 1000)], pvars={"mtl_linnet_flow_frames_in": frames, "mtl_linnet_udp_tx_bytes": 2000 * MB}),
                    rank(1, "h1", [(0, MB, 1)], pvars={"mtl_linnet_flow_frames_out": frames})]

        wire = counters(h0=(30 * MB, 1050 * MB, 0), h1=(1050 * MB, 30 * MB, 0))
        self.assertEqual(problems(ranks(300_000), wire, "linnet-udp"), [])
        self.assertEqual(len(problems(ranks(100_000), wire, "linnet-udp")), 2)
        stream = counters(h0=(2 * MB, 1600 * MB, 0), h1=(1600 * MB, 2 * MB, 0))   # its own frames are no reason for more than half as much again
        sent = [rank(0, "h0", [(1, 1000 * MB, 1000)], pvars={"mtl_linnet_flow_frames_out": 700_000, "mtl_linnet_udp_tx_bytes": 2000 * MB}),
                rank(1, "h1", [(0, MB, 1)], pvars={"mtl_linnet_flow_frames_in": 700_000})]
        self.assertEqual(len(problems(sent, stream, "linnet-udp")), 2)

    def test_headers_of_small_messages_are_allowed_for(self):
        ranks = [rank(0, "h0", [(1, 8 * 100_000, 100_000)]), rank(1, "h1", [(0, 8 * 100_000, 100_000)])]
        wire = 150 * 100_000
        self.assertEqual(problems(ranks, counters(h0=(wire, wire, 0), h1=(wire, wire, 0))), [])

    def test_collectives_are_held_to_the_least_that_must_cross(self):
        ranks = [rank(0, "h0", must=(10 * MB, 0)), rank(1, "h0"), rank(2, "h1", must=(0, 10 * MB)), rank(3, "h1")]
        self.assertEqual(problems(ranks, counters(h0=(0, 40 * MB, 9 * MB), h1=(40 * MB, 0, 9 * MB))), [])
        self.assertEqual(len(problems(ranks, counters(h0=(0, 9 * MB, 0), h1=(9 * MB, 0, 0)))), 2)


class ProofWithinHostTest(unittest.TestCase):
    RANKS = [rank(0, "h0", [(1, 10 * MB, 1000)]), rank(1, "h0", [(0, 10 * MB, 1000)])]

    def test_quiet_interfaces_pass_for_shared_memory(self):
        self.assertEqual(problems(self.RANKS, ZERO, "vader", stacks.HOST), [])

    def test_traffic_on_the_interface_fails(self):
        after = counters(h0=(0, 20 * MB, 0), h1=(20 * MB, 0, 0))
        self.assertEqual(len(problems(self.RANKS, after, "vader", stacks.HOST)), 1)

    def test_loopback_fails_for_shared_memory_only(self):
        after = counters(h0=(0, 0, 21 * MB), h1=(0, 0, 0))
        self.assertEqual(len(problems(self.RANKS, after, "vader", stacks.HOST)), 1)
        self.assertEqual(problems(self.RANKS, after, "btl_tcp", stacks.HOST), [])

    def test_ranks_on_two_hosts_fail(self):
        found = problems(PING, counters(h0=(11 * MB, 11 * MB, 0), h1=(11 * MB, 11 * MB, 0)), "btl_tcp", stacks.HOST)
        self.assertIn("several hosts", found[0])


class ProofOfLinnetTest(unittest.TestCase):
    WIRE = counters(h0=(11 * MB, 11 * MB, 0), h1=(11 * MB, 11 * MB, 0))

    def ranks(self, **per_transport):
        pvars = {f"mtl_linnet_{t}_tx_bytes": n for t, n in per_transport.items()}
        return [dict(r, pvars=pvars) for r in PING]

    def test_the_named_transport_accounts_for_the_payload(self):
        self.assertEqual(problems(self.ranks(tcp=10.1 * MB, udp=0), self.WIRE, "linnet-tcp"), [])

    def test_another_transport_fails_although_the_interface_agrees(self):
        found = problems(self.ranks(tcp=2000, udp=10.1 * MB), self.WIRE, "linnet-tcp")
        self.assertEqual(len(found), 1)
        self.assertIn("tcp counters", found[0])

    def test_own_choice_adds_up_all_transports(self):
        self.assertEqual(problems(self.ranks(tcp=5.1 * MB, udp=5.1 * MB), self.WIRE, "linnet"), [])
        self.assertEqual(len(problems(self.ranks(tcp=5 * MB, udp=2 * MB), self.WIRE, "linnet")), 1)

    def test_a_receiver_that_pulls_counts_what_it_received(self):
        ranks = [dict(r, pvars={"mtl_linnet_shm_tx_bytes": 900, "mtl_linnet_shm_rx_bytes": 10 * MB})
                 for r in ProofWithinHostTest.RANKS]
        self.assertEqual(problems(ranks, ZERO, "linnet-shm", stacks.HOST), [])

    def test_what_a_rank_sends_itself_is_no_payload(self):
        self.assertEqual(len(problems(self.ranks(tcp=2 * MB, loopback=11 * MB), self.WIRE, "linnet")), 1)

    def test_counters_are_given_for_each_thousand_messages(self):
        ranks = [dict(r, pvars={"mtl_linnet_wakeups": 3}) for r in PING]
        self.assertEqual(proof.counters({"ranks": ranks}), {"wakeups": 3.0})  # 6 for 2000 messages
        ranks[0]["must_tx"] = 1  # a collective: nobody knows how many messages it took
        self.assertEqual(proof.counters({"ranks": ranks}), {})

    def test_no_variables_means_that_linnet_did_not_run(self):
        self.assertIn("did not run", problems(PING, self.WIRE, "linnet-tcp")[0])

    def test_linnet_under_another_name_fails(self):
        self.assertIn("another stack's name", problems(self.ranks(tcp=11 * MB), self.WIRE, "btl_tcp")[0])


class FakeLab:
    """Two hosts whose counters follow a script; its mpirun prints a result line."""

    hosts = ["h0", "h1"]
    addresses = {"h0": "10.0.0.1", "h1": "10.0.0.2"}

    def __init__(self, crooked=(), disturbed=0):
        self.crooked = crooked
        self.disturbed = disturbed   # jobs, from the first, that say so
        self.now = {h: {"eth0": [0, 0], "lo": [0, 0]} for h in self.hosts}
        self.calls = 0

    def counters(self):
        return {h: {i: tuple(c) for i, c in interfaces.items()} for h, interfaces in self.now.items()}

    host_of = staticmethod(host_of)

    def mpirun(self, per_host, pin, options, program):
        return ["fake-mpirun", *options]

    def line(self, options):
        self.calls += 1
        interface = "lo" if any(bad in options for bad in self.crooked) else "eth0"
        for host in self.hosts:
            for i in (0, 1):
                self.now[host][interface][i] += 12 * MB
        rows = [{"metric": "half-round-trip", "x": 8, "unit": "us", "better": "lower", "value": 1.0 + self.calls}]
        notes = ["disturbed: by another program"] if self.calls <= self.disturbed else []
        return json.dumps({"bench": "x", "ranks": PING, "rows": rows, "notes": notes}, separators=(",", ":"))


def options(**changes):
    plain = dict(build=None, seconds=1, limit=10, sizes="", verify=False, program_args=[], mpirun_args=[], place=stacks.HOSTS,
                 idle=[], per_host=None, pin=None, turns=3)
    return types.SimpleNamespace(**{**plain, **changes})


class RunnerTest(unittest.TestCase):
    def run_stacks(self, fake, *names):
        saved = runner.find_programs, runner.run_job
        runner.find_programs = lambda _: pathlib.Path("/nowhere")
        # The counters move between the two readings, as they do while a job runs.
        runner.run_job = lambda command, _: fake.line(command[1:])
        try:
            run = runner.Runner(fake, measurements.MEASUREMENTS["pingpong"], [stacks.STACKS[n] for n in names], options())
            run.run(lambda _: None)
        finally:
            runner.find_programs, runner.run_job = saved
        return run

    def test_collects_one_value_for_each_turn(self):
        run = self.run_stacks(FakeLab(), "btl_tcp", "btl_tcp_epoll")
        self.assertEqual({s: len(m["half-round-trip"][8]) for s, m in run.values.items()},
                         {"btl_tcp": 3, "btl_tcp_epoll": 3})
        self.assertEqual(run.failed, {})

    def test_repeats_a_disturbed_job(self):
        run = self.run_stacks(FakeLab(disturbed=2), "btl_tcp")
        self.assertEqual(run.values["btl_tcp"]["half-round-trip"][8], [4.0, 5.0, 6.0])  # 2 and 3 were thrown away
        self.assertEqual(run.disturbed, set())

    def test_names_a_stack_that_stays_disturbed(self):
        self.assertEqual(self.run_stacks(FakeLab(disturbed=3), "btl_tcp").disturbed, {"btl_tcp"})

    def test_drops_a_stack_that_used_loopback(self):
        run = self.run_stacks(FakeLab(crooked=["opal_event_include"]), "btl_tcp", "btl_tcp_epoll")
        self.assertEqual(list(run.values), ["btl_tcp"])
        self.assertIn("the named path did not carry the bytes", run.failed["btl_tcp_epoll"])


class QuietTest(unittest.TestCase):
    def test_finds_the_gaps_of_a_clock(self):
        times = iter([0, 1000, 501_000, 502_000, 2_502_000, 2_503_000, 3_000_000])
        self.assertEqual(quiet.gaps(lambda: next(times), 2_900_000), (3_000_000, [500_000, 2_000_000, 497_000]))

    def test_looks_on_every_processor_and_sums_up(self):
        watch = quiet.Watch()
        watch.look(0.01)
        watch.look(0.01)
        self.assertGreaterEqual(watch.ran, 2 * 10_000_000 * len(os.sched_getaffinity(0)))
        self.assertLessEqual(watch.taken, watch.ran)

    def test_says_when_the_machine_was_not_ours(self):
        watch = quiet.Watch()
        watch.add(100_000_000, 500_000, 400_000)
        self.assertEqual(watch.text(), "between the turns others had the processors for 0.5 % of the time, at most 0.4 ms on end")
        watch.add(100_000_000, 9_500_000, 6_000_000)
        self.assertIn("5.0 % of the time, at most 6.0 ms on end: believe no", watch.text())
        self.assertEqual(watch.facts(), {"share": 0.05, "longest_ms": 6.0, "looked_ms": 200.0})


class DistanceTest(unittest.TestCase):
    """With a core_line of the test's, which says what a list says, one after the other."""

    def watch(self, *turns):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "core_line"
            said = pathlib.Path(folder) / "said"
            said.write_text("\n".join(str(look) for turn in turns for look in turn) + "\n", encoding="utf-8")
            program.write_text(f"#!/bin/sh\nhead -n 1 {said}; sed -i 1d {said}\n", encoding="utf-8")
            program.chmod(0o755)
            watch = distance.Watch(program)
            for turn in turns:
                watch.begin_turn()
                for _ in turn[1:]:
                    watch.look()
        return watch

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_tells_turns_of_two_kinds_apart(self):
        watch = self.watch([60.5, 71, 62], [240, 250, 239], [61, 240, 240], [58, 60, 59])
        self.assertEqual(watch.kinds(), {"near": [0, 3], "far": [1], "changed": [2]})
        self.assertEqual(watch.text(), "a line of memory took from one processor to the other 58 to 71 ns in 2 turns (near), 239 to 250 ns in 1 turn (far), "
                                       "61 to 240 ns in 1 turn (changed)")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_one_look_that_found_both_on_one_core_makes_the_others_no_farther(self):
        self.assertEqual(self.watch([60, 24, 62], [61, 60, 63], [60, 62, 60], [240, 250, 239]).kinds(), {"near": [0, 1, 2], "far": [3]})

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_names_no_kind_where_there_is_one(self):
        self.assertEqual(self.watch([240, 250], [239, 300]).text(), "a line of memory took from one processor to the other 239 to 300 ns in 2 turns")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_a_processor_that_is_ours_no_more_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "core_line"
            program.write_text("#!/bin/sh\nexit 2\n", encoding="utf-8")
            program.chmod(0o755)
            watch = distance.Watch(program)
            watch.begin_turn()
            watch.look()
        self.assertEqual((watch.turns, watch.kinds(), watch.text()), ([[]], {}, ""))

    def test_sees_nothing_without_the_program(self):
        for program in (None, pathlib.Path("/nowhere/core_line")):
            watch = distance.Watch(program)
            watch.begin_turn()
            self.assertEqual((watch.kinds(), watch.text()), ({}, ""))

    def test_takes_the_values_of_some_turns(self):
        values = {"a": {"time": {8: [1.0, 2.0, 3.0], 64: [1.0, 2.0]}}, "b": {"time": {8: [4.0, 5.0, 6.0]}}}
        self.assertEqual(distance.values_of([0, 2], values), {"a": {"time": {8: [1.0, 3.0]}}, "b": {"time": {8: [4.0, 6.0]}}})

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_the_turns_of_either_kind_get_a_table_of_their_own(self):
        watch = self.watch([60, 61], [240, 250], [59, 60])
        values = {"a": {"time": {8: [1.0, 8.0, 1.0]}}, "b": {"time": {8: [2.0, 2.0, 2.0]}}}
        run = types.SimpleNamespace(distance=watch, values=values, units={"time": ("us", "lower")})
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            load_compare().show_apart(run, "b")
        near, far = said.getvalue().split("the 1 turn with the processors far:")
        self.assertIn("the 2 turns with the processors near:", near)
        self.assertIn("0.500 [0.500, 0.500]", near)
        self.assertIn("4.000 [4.000, 4.000]", far)


class JobTest(unittest.TestCase):
    def test_gives_the_output(self):
        self.assertEqual(runner.run_job(["sh", "-c", "echo hello"], 10), "hello\n")

    def test_a_failing_job_is_an_error_with_its_last_words(self):
        with self.assertRaisesRegex(runner.TurnError, "exit status 3(.|\n)*no such luck"):
            runner.run_job(["sh", "-c", "echo no such luck >&2; exit 3"], 10)

    def test_a_job_that_hangs_is_ended(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(runner.TurnError, "did not end within"):
            runner.run_job(["sleep", "60"], 0.2)
        self.assertLess(time.monotonic() - begin, 30)

    def test_the_result_line_is_found_among_other_output(self):
        self.assertEqual(runner.result_line('warning\n{"bench":"x","rows":[]}\nbye\n'), {"bench": "x", "rows": []})

    def test_no_result_line_is_an_error(self):
        with self.assertRaises(runner.TurnError):
            runner.result_line("nothing\n")


class StacksTest(unittest.TestCase):
    def test_refuses_unknown_repeated_and_misplaced_stacks(self):
        for names, place in ((["tcp"], stacks.HOSTS), (["btl_tcp", "btl_tcp"], stacks.HOSTS), (["vader"], stacks.HOSTS),
                             (["linnet-eth"], stacks.HOST)):
            with self.subTest(names), self.assertRaises(stacks.StackError):
                stacks.select(names, place)

    def test_a_missing_component_is_named(self):
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(stacks.StackError, stacks.COMPONENT):
            stacks.find_part(stacks.COMPONENT, empty, None)

    def test_a_provider_is_passed_to_every_host(self):
        with tempfile.TemporaryDirectory() as prefix:
            folder = pathlib.Path(prefix) / "lib" / "libfabric"
            folder.mkdir(parents=True)
            with self.assertRaisesRegex(stacks.StackError, stacks.PROVIDER):
                stacks.find_part(stacks.PROVIDER, prefix, None)
            (folder / stacks.PROVIDER).touch()
            found = stacks.find_part(stacks.PROVIDER, prefix, None)
        options = stacks.with_provider(stacks.STACKS["linnet-ofi"], found, "/somewhere").mpirun_options()
        self.assertIn(f"FI_PROVIDER_PATH={found}", options)
        self.assertIn("FI_PROVIDER=linnet", options)
        self.assertIn("LD_LIBRARY_PATH=/somewhere", options)

    def test_a_component_is_passed_to_every_host(self):
        with tempfile.TemporaryDirectory() as prefix:
            folder = pathlib.Path(prefix) / "lib" / "openmpi"
            folder.mkdir(parents=True)
            (folder / stacks.COMPONENT).touch()
            found = stacks.find_part(stacks.COMPONENT, prefix, None)
        stack = stacks.with_component(stacks.STACKS["linnet-udp"], found, "/somewhere")
        self.assertIn("LD_LIBRARY_PATH=/somewhere", stack.mpirun_options())
        self.assertIn("udp", stack.mpirun_options())
        self.assertTrue(stack.mca["mca_base_component_path"].startswith(str(found)))


class LabTest(unittest.TestCase):
    def test_options_become_those_of_lab_up(self):
        self.assertEqual(lab.up_options("hosts=2 rate=10gbit segment"),
                         ["--hosts", "2", "--rate", "10gbit", "--segment"])
        for text in ("hosts", "segment=1"):
            with self.subTest(text), self.assertRaises(lab.LabError):
                lab.up_options(text)

    def test_faults_are_no_options_of_lab_up(self):
        self.assertEqual(lab.split_faults("hosts=2 loss=0.001 segment delay=1ms"),
                         ("hosts=2 segment", ["--loss", "0.001", "--delay", "1ms"]))
        self.assertEqual(lab.split_faults("hosts=2"), ("hosts=2", []))

    def test_reads_interface_counters(self):
        text = ("Inter-|   Receive  |  Transmit\n face |bytes packets\n"
                "    lo:  12  1 0 0 0 0 0 0  34 1 0 0 0 0 0 0\n  eth0: 56 1 0 0 0 0 0 0 78 1 0 0 0 0 0 0\n")
        self.assertEqual(lab.parse_net_dev(text), {"lo": (12, 34), "eth0": (56, 78)})


class MeasurementTest(unittest.TestCase):
    def test_idle_runs_one_job_for_each_number_of_idle_ranks(self):
        idle = measurements.MEASUREMENTS["idle"]
        self.assertEqual([(n, s) for n, s, _ in idle.jobs([0, 3], 2, 1)], [(2, 1), (5, 3)])

    def test_each_has_a_program_and_peers_that_run_between_hosts(self):
        for m in measurements.MEASUREMENTS.values():
            with self.subTest(m.name):
                here = pathlib.Path(__file__).resolve().parent
                programs = ([here / "mpi" / f"{m.program}.c"] if m.program else []) + [here / "micro" / f"{raw}.cc" for raw in m.raw]
                self.assertTrue(programs and all(p.exists() for p in programs))
                self.assertEqual([s.name for s in stacks.select(m.peers, stacks.HOSTS)], list(m.peers))

    def test_collectives_fill_the_hosts(self):
        self.assertEqual(measurements.MEASUREMENTS["collectives"].jobs([], 4, 2), [(8, 2, [])])


class TableTest(unittest.TestCase):
    VALUES = {"a": {"time": {8: [1.0, 2.0], 65536: [4.0, 4.0]}, "hidden": {1: [0.5, 0.7]}},
              "b": {"time": {8: [2.0, 4.0], 65536: [8.0, 8.0]}, "hidden": {1: [-0.1, 0.1]}}}
    UNITS = {"time": ("us", "lower"), "hidden": ("share", "higher")}

    def test_rows_hold_ratio_or_difference(self):
        metrics = table.compare(self.VALUES, self.UNITS, "b")
        self.assertEqual(metrics["time"]["stacks"]["a"]["points"][8]["ratio"]["point"], 0.5)
        self.assertAlmostEqual(metrics["hidden"]["stacks"]["a"]["points"][1]["difference"], 0.6)
        self.assertAlmostEqual(metrics["time"]["stacks"]["a"]["geomean"]["point"], 0.5)

    def test_the_text_names_sizes_and_ratios(self):
        text = table.text(table.compare(self.VALUES, self.UNITS, "b"), "b")
        self.assertRegex(text, r"64 KB +a +2 +4 +0 +4 +4 +0\.500 \[0\.500, 0\.500\]")
        self.assertRegex(text, r"geomean +a +0\.500")

    def test_the_picture_has_a_panel_for_each_metric(self):
        script = picture.script(table.compare(self.VALUES, self.UNITS, "b"), "t", "/tmp/x.png")
        self.assertEqual(script.count("\nplot "), 2)
        self.assertIn('title "a"', script)


def load_compare():
    compare = types.ModuleType("compare")
    source = pathlib.Path(__file__).resolve().parent / "compare"
    compare.__file__ = str(source)
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), compare.__dict__)
    return compare


class CommandLineTest(unittest.TestCase):
    def test_no_claim_holds_about_a_disturbed_stack(self):
        values = {"a": {"hidden": {8: [5.2]}}}
        claim = claims.Claim.parse("a>=0.95:median")
        judge = load_compare().judge
        self.assertTrue(judge([claim], values, (), set())[0]["holds"])
        self.assertFalse(judge([claim], values, (), {"a"})[0]["holds"])

    def test_lists_every_measurement_and_stack(self):
        compare = load_compare()
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            compare.print_list()
        for name in (*measurements.MEASUREMENTS, *stacks.STACKS):
            self.assertIn(f"  {name} ", out.getvalue())


if __name__ == "__main__":
    unittest.main()
