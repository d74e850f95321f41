#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs the MPICH test suite over Linnet and over another stack, and compares.
"""What counts is the difference: an entry that passes over the other stack must pass over Linnet. With Open MPI that is pml ob1 (TCP), with MPICH
(--mpich) another provider of libfabric. Open MPI's own mtl ofi (--provider-dir alone) is compared with ob1, and where it fails, with itself over
another provider, which shows faults that are its own. The files `differences`, `differences-ofi`, `differences-btl` and `differences-mpich` list those that do
not pass and say why; they may only shrink. Entries that do not compile or do not pass over another stack either are shown, and prove nothing.
Exit status: 0 as listed, 1 a difference that is not listed or no longer there, 2 wrong use, 77 nothing could be run here."""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import launchers  # noqa: E402
import suite      # noqa: E402

SKIP = 77
FOLDERS = ["pt2pt", "comm", "attr", "datatype", "threads/pt2pt"]
# A choice for the quick tier: each way to send, receive, probe and complete; communicators made and freed.
QUICK = """pt2pt/sendself pt2pt/sendrecv2 pt2pt/sendrecv3 pt2pt/sendflood pt2pt/anyall pt2pt/eagerdt pt2pt/bsendfrag pt2pt/isendirecv pt2pt/icsend
    pt2pt/rqfreeb pt2pt/probe_unexp pt2pt/rcancel pt2pt/mprobe pt2pt/manylmt pt2pt/huge_anysrc pt2pt/large_tag pt2pt/multi_psend_derived
    comm/dup comm/icm comm/cmfree comm/comm_idup_mul comm/probe_intercomm""".split()
SECONDS = 60
# What the launcher says on a busy machine, or about its own hosts; not the program's.
LAUNCHER = re.compile(r"^\[[^\]]*\] .*(setpgid|plm:rsh)|^\s*$")
OUT_OF_TIME = "not over in time"
NO_TIME = "there was no time for it"   # in the table for what --stop-after left, which --missing runs
KNOWN_SECONDS = 10                     # for what --before has as failed over another stack as well
BEFORE = ", before"                    # ends what a table has from --before, and not from its own run
EITHER_WAY = "either way: "   # a reason that begins so is that of an entry which passes over Linnet at times


@dataclasses.dataclass
class Outcome:
    entry: suite.Entry
    why: dict = dataclasses.field(default_factory=dict)       # stack: what is wrong, empty if it passed; no key: not run
    listed: str = ""                                          # the reason in `differences`
    skipped: str = ""
    others: tuple = ("ob1",)                                  # the stacks that Linnet is compared with

    @property
    def verdict(self):
        if self.skipped:
            return "not run"
        if self.why.get("linnet") == "":
            return "no longer different" if self.listed and not self.listed.startswith(EITHER_WAY) else "better" if self.fail_too else "pass"
        if self.fail_too:
            return "neither" if self.others[0] in self.fail_too else "host"
        return "listed" if self.listed else "DIFFERENT"

    @property
    def fail_too(self):
        return [stack for stack in self.others if self.why.get(stack)]

    @property
    def wrong(self):
        return self.verdict in ("DIFFERENT", "no longer different")


def read_differences(path):
    """Lines `entry: reason`; an entry is what the table calls it."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            if not reason.strip():
                raise SystemExit(f"{path}: no reason for {name}")
            found[name.strip()] = reason.strip()
    return found


def judge(entry, status, text):
    """What is wrong, by the rules of the suite's own runtests; empty: it passed."""
    if status is None:
        return OUT_OF_TIME
    if entry.result in ("TestStatus", "TestErrFatal"):
        return "" if status != 0 else "it ended with 0, and should not"
    said = text.splitlines()[1:]
    if status != 0 and entry.result != "TestStatusNoErrors":
        return f"it ended with {status}"
    if status == 0 and entry.result == "TestStatusNoErrors":
        return "it ended with 0, and should not"
    if not any(re.fullmatch(r"\s*No [Ee]rrors\s*", line) for line in said):
        return "it did not say No Errors"
    other = [line for line in said if not re.fullmatch(r"\s*(No [Ee]rrors|Test Passed)\s*", line) and not LAUNCHER.match(line)]
    return f"it said: {other[0].strip()[:100]}" if other else ""


def seconds_for(entry, args):
    own = min((entry.seconds or SECONDS) * args.patience, args.at_most)
    return min(own, KNOWN_SECONDS) if failed_before(entry, args) else own


def failed_before(entry, args):
    """What --before has of the other stacks over which an entry failed, where it did not pass over Linnet either."""
    before = args.before.get(entry.name, {})
    return {stack: why.removesuffix(BEFORE) + BEFORE for stack, why in before.items() if stack != "linnet" and why} if before.get("linnet") else {}


def run(entry, stack, args, times=1):
    """Runs it over that stack, in that many times its time; returns what is wrong. The output goes to a file."""
    log = args.logs / (re.sub(r"[^A-Za-z0-9]+", "-", f"{entry.name} {stack}")[:180].strip("-") + ".log")
    seconds = seconds_for(entry, args) * times
    command = args.launcher.command(entry, args.suite.program(entry.folder, entry.program), stack)
    with open(log, "w", encoding="utf-8") as out:
        out.write(" ".join(command) + "\n")
        out.flush()
        process = subprocess.Popen(command, cwd=args.suite.folder_to_run_in(entry.folder, args.logs / "run"), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   env=args.launcher.environment(stack), start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            launchers.run_mpi.end(process)
            status = None
    return judge(entry, status, log.read_text(encoding="utf-8", errors="replace"))


def memory_here():
    found = re.search(r"MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(encoding="ascii"))
    return int(found.group(1)) / 1e6


def compare(entry, args, differences):
    others = args.launcher.stacks[:-1]
    outcome = Outcome(entry, listed=differences.get(entry.name, ""), others=others)
    if not args.suite.program(entry.folder, entry.program).exists():
        outcome.skipped = "does not compile"
    elif entry.memory > memory_here():
        outcome.skipped = f"needs {entry.memory} GB of memory"
    else:
        begin = time.monotonic()
        outcome.why.update(args.known.get(entry.name, {}))
        for stack in args.launcher.stacks if args.baseline else ("linnet",):
            if stack not in outcome.why:
                outcome.why[stack] = run(entry, stack, args)
        if outcome.verdict in ("DIFFERENT", "listed"):
            outcome.why = failed_before(entry, args) | outcome.why   # what ran now counts
        for stack in others:   # until one shows that it is not Linnet alone
            if outcome.verdict in ("DIFFERENT", "listed") and stack not in outcome.why:
                outcome.why[stack] = run(entry, stack, args)
        if outcome.verdict == "DIFFERENT" and outcome.why["linnet"] == OUT_OF_TIME:   # that of the machine, or ours?
            outcome.why["linnet"] = run(entry, "linnet", args, 3)
        took = f"{time.monotonic() - begin:.1f} s"
        print(f"{outcome.verdict}: {entry.name} ({took})" + "".join(f"; {stack}: {why}" for stack, why in outcome.why.items() if why), flush=True)
    return outcome


def cell(outcome, stack):
    return "not run" if stack not in outcome.why else outcome.why[stack] or "pass"


def columns(others):
    return ["entry", *others, "linnet", "verdict", "reason"]


def read_table(path):
    """What an earlier run wrote: a line, as a list of its cells, for each entry."""
    if not path or not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return {row[0]: row for row in rows if row[0] != columns(())[0]}


def results_of(row, others):
    """What a line of the table says of the stacks that were run, as Outcome.why."""
    return {stack: "" if said == "pass" else said for stack, said in zip((*others, "linnet"), row[1:]) if said != "not run"}


def known_from(path, others):
    """What the table says of each entry that it has; there is nothing to say of those that a run had no time for."""
    return {name: results_of(row, others) for name, row in read_table(path).items() if row[-1] != NO_TIME}


def is_missing(entry, known, others, baseline):
    """Nothing is known of it; or, with `baseline`, it ran over Linnet, and over another stack not yet."""
    ran = known.get(entry.name)
    return ran is None or (baseline and "linnet" in ran and not ran.keys() >= set(others))


def write_table(path, outcomes):
    """What was run now takes the place of what an earlier run wrote of the same entry."""
    if not outcomes:
        return
    rows = read_table(path)
    for outcome in outcomes:
        cells = [cell(outcome, stack) for stack in (*outcome.others, "linnet")]
        rows[outcome.entry.name] = [outcome.entry.name, *cells, outcome.verdict, outcome.skipped or outcome.listed]
    with open(path, "w", encoding="utf-8") as table:
        for row in [columns(outcomes[0].others), *(rows[name] for name in sorted(rows))]:
            print("\t".join(row).rstrip("\t"), file=table)


def summary(outcomes):
    """A table of the folders, in Markdown."""
    verdicts = ["pass", "better", "listed", "DIFFERENT", "no longer different", "neither", "host", "not run"]
    titles = ["pass over Linnet", "... and not over the other", "listed difference", "**other difference**", "**no longer different**", "pass over neither",
              "nor by mtl ofi over the other provider", "not run"]
    lines = ["| folder | entries | " + " | ".join(titles) + " |", "|---|" + "---|" * (len(verdicts) + 1)]
    for folder in dict.fromkeys(outcome.entry.folder for outcome in outcomes):
        count = collections.Counter(outcome.verdict for outcome in outcomes if outcome.entry.folder == folder)
        count["pass"] += count["better"]
        lines.append(f"| {folder} | {sum(o.entry.folder == folder for o in outcomes)} | " + " | ".join(str(count[verdict]) for verdict in verdicts) + " |")
    return "\n".join(lines)


def write_results(path, outcomes, label):
    """A line per case for ./check; what proves nothing is one line."""
    label = f" ({label})" if label else ""
    nothing = [outcome for outcome in outcomes if outcome.verdict in ("neither", "host", "not run", "listed")]
    with open(path, "a", encoding="utf-8") as table:
        for outcome in outcomes:
            if outcome.wrong:
                print("fail", "mpich", outcome.entry.name + label, outcome.why.get("linnet") or "passes now: take it off the list", sep="\t", file=table)
            elif outcome not in nothing:
                print("pass", "mpich", outcome.entry.name + label, "", sep="\t", file=table)
        if nothing:
            print("skip", "mpich", f"{len(nothing)} entries{label}", "listed, or do not compile or pass over the other stack either", sep="\t", file=table)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help=f"folders of the suite, or all (default: {' '.join(FOLDERS)})")
    parser.add_argument("--quick", action="store_true", help="a choice of 22 entries instead")
    parser.add_argument("--datatypes", action="store_true", help="the lists of programs with generated datatypes too: many minutes")
    parser.add_argument("--source", type=pathlib.Path, help="the source archive, its folder, or an MPICH tree; default: apt-get source, cached")
    parser.add_argument("--mpich", type=pathlib.Path, metavar="PREFIX",
                        help="with the MPICH installed there, which sends through libfabric, instead of Open MPI; auto: what mpich_netmod/build-mpich has built")
    parser.add_argument("--provider-dir", type=pathlib.Path, help="folder of liblinnet-fi.so; without --mpich: Open MPI's own mtl ofi over it, instead of Linnet's component")
    parser.add_argument("--other", default="tcp;ofi_rxm", metavar="PROVIDER", help="with --mpich or --provider-dir: the provider to compare with (default: tcp;ofi_rxm)")
    parser.add_argument("--btl-ofi", action="store_true", help="with --provider-dir: one-sided operations by Open MPI's osc rdma over its btl ofi (default folders: "
                        f"{' '.join(launchers.ONE_SIDED)})")
    parser.add_argument("--plugin-dir", type=pathlib.Path, help="folder of mca_mtl_linnet.so, when it is not installed")
    parser.add_argument("--lab", metavar="NAME", help="across the hosts of this lab (tests/lab), ranks in turn; default: within this host")
    parser.add_argument("--hosts", type=int, default=2, help="how many hosts the lab has (default: 2)")
    parser.add_argument("--transports", default="", metavar="LIST", help="Linnet's setting of this name, when it shall not choose itself")
    parser.add_argument("--label", default="", help="said in --results with the name of each entry")
    parser.add_argument("--mca", action="append", default=[], metavar="NAME=VALUE", help="further MCA parameter of Open MPI, for both stacks; may be repeated")
    parser.add_argument("--baseline", action="store_true", help="run everything over the other stack too, not only what does not pass over Linnet")
    parser.add_argument("--patience", type=float, default=1.0, help="multiplies every time limit (default: 1)")
    parser.add_argument("--at-most", type=float, default=float("inf"), metavar="SECONDS", help="no entry gets more time at once than that, whatever its list says")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("mpich-logs"), help="folder for output (default: mpich-logs)")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE",
                        help="bring the table there up to date, as tab-separated values: what is not run now keeps its line")
    parser.add_argument("--missing", action="store_true",
                        help="only what is not in the table yet; with --baseline also the other stack alone, where its column says not run")
    parser.add_argument("--before", type=pathlib.Path, metavar="FILE", help=f"the table of an earlier run: what failed in it over Linnet and another stack gets {KNOWN_SECONDS} s "
                        "at most, and is not run again over the stacks over which it failed there")
    parser.add_argument("--stop-after", type=float, metavar="SECONDS", default=float("inf"), help="begin no entry after so long; --missing runs the rest")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="append a line per case: verdict, program, case, reason")
    parser.add_argument("-k", dest="select", default="", metavar="REGEX", help="only the entries whose name matches")
    parser.add_argument("--list", action="store_true", help="only list them")
    args = parser.parse_args(argv)
    if args.btl_ofi and (args.mpich or not args.provider_dir):
        parser.error("--btl-ofi needs --provider-dir, and no --mpich")
    if args.before and not args.before.exists():
        parser.error(f"--before: there is no {args.before}")
    if args.missing and not args.table:
        parser.error("--missing needs --table")
    args.logs = args.logs.resolve()
    args.logs.mkdir(parents=True, exist_ok=True)
    return args


def default_folders(args):
    if args.quick:
        return dict.fromkeys(name.rsplit("/", 1)[0] for name in QUICK)
    return launchers.ONE_SIDED if args.btl_ofi else FOLDERS


def chosen(args):
    folders = args.suite.folders() if args.folders == ["all"] else args.folders or default_folders(args)
    entries = [entry for folder in folders for entry in args.suite.entries(folder, args.datatypes) if re.search(args.select, entry.name)]
    if args.quick:
        first = {}
        for entry in entries:
            first.setdefault(f"{entry.folder}/{entry.program}", entry)
        entries = [first[name] for name in QUICK if name in first]
    return [entry for entry in entries if is_missing(entry, args.known, args.launcher.stacks[:-1], args.baseline)]


def main(argv):
    args = parse(argv)
    try:
        args.launcher = launchers.Mpich(args) if args.mpich else launchers.OpenMpi(args)
        args.before = known_from(args.before, args.launcher.stacks[:-1])
        args.known = known_from(args.table, args.launcher.stacks[:-1]) if args.missing else {}
        args.suite = suite.Suite(args.launcher.mpicc, args.source, of_mpich=bool(args.mpich))
        entries = chosen(args)
    except suite.Unavailable as reason:
        print(f"the MPICH test suite is not available: {reason}")
        return SKIP
    except suite.Broken as reason:
        print(f"the MPICH test suite cannot be made ready: {reason}")
        return 1
    if args.list or not entries:
        print("\n".join(entry.name for entry in entries) or "no such entry")
        return 0 if entries else 2
    args.suite.compile(entries)
    differences = read_differences(FOLDER / args.launcher.differences)
    end = time.monotonic() + args.stop_after
    outcomes = []
    for entry in entries:
        if time.monotonic() >= end:
            left = entries[len(outcomes):]
            print(f"stopped, {len(left)} entries are left")
            if args.table:
                known = read_table(args.table)
                write_table(args.table, [Outcome(entry, skipped=NO_TIME, others=args.launcher.stacks[:-1]) for entry in left if entry.name not in known])
            break
        outcomes.append(compare(entry, args, differences))
        if args.table:
            write_table(args.table, outcomes[-1:])
    if args.results:
        write_results(args.results, outcomes, args.label)
    print(summary(outcomes))
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    for outcome in wrong:
        print(f"{outcome.verdict}: {outcome.entry.name}: {cell(outcome, 'linnet')}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
