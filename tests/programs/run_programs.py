#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs real MPI programs, unmodified from Debian's packages, over Linnet and over Open MPI's own TCP and shared memory, and judges what they say.
"""Each program verifies its own results, or is compared with a run over pml ob1 (programs.py). A *killed* case ends one rank with SIGKILL: the
job must be over within 5 s, with a message that names the rank, and leave no process and no file of Linnet's. A *crowded* case has many more ranks than cores, and
may not take much longer than the TCP BTL whose ranks yield. A *watched* case asks linnet-top while it runs. A program whose package is not there is skipped by name.
Exit status: 0 all passed, 1 a case failed, 2 wrong use, 77 nothing could be run here."""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "integration"))
import run_mpi                                     # noqa: E402  (found only through the path set above)
import leftovers                                   # noqa: E402
import open_mpi                                    # noqa: E402
import stolen                                      # noqa: E402
from programs import PROGRAMS, Compiled            # noqa: E402

SKIP = 77
LAB = HERE.parent / "lab" / "lab"
TAG = "LINNET_TEST_JOB"     # an environment variable by which the processes of a job are found
LONGEST_END = 5.0           # seconds from a rank's death to the job's end, but for what a hypervisor took
CROWDED_RATIO = 1.5         # of the time of the TCP BTL with yield; a collapse is a factor of ten
CROWDED_SECONDS = 3         # rounds of a second differ by a factor of two between themselves while the machine does other things


@dataclasses.dataclass(frozen=True)
class Place:
    name: str
    ranks: int
    per_host: int = 0       # ranks on each host of the lab; 0: all on this machine
    transports: str = ""    # Linnet's setting; empty: its own choice
    btl: str = ""           # the like for pml ob1


PLACES = {p.name: p for p in (
    Place("2 hosts", 2, 1, "tcp", "tcp,self"),
    Place("4 hosts", 4, 1, "tcp", "tcp,self"),
    Place("2 hosts by 2", 4, 2, "shm,tcp", "tcp,vader,self"),
    Place("here, tcp", 4, 0, "tcp", "tcp,self"),
    Place("here, shm", 4, 0, "shm", "vader,self"),
)}


@dataclasses.dataclass(frozen=True)
class Case:
    program: object
    place: Place
    pml: str
    variant: str = ""
    killed: bool = False
    crowded: bool = False
    watched: bool = False
    quick: bool = False

    @property
    def name(self):
        words = [self.program.name, self.variant, f"on {self.place.ranks}, {self.place.name}", "killed" if self.killed else "watched" if self.watched else ""]
        return " ".join(word for word in words if word)

    @property
    def folder(self):
        return re.sub(r"[^A-Za-z0-9]+", "-", f"{self.name} {self.pml}").strip("-")


# What runs in the quick selection; all of it is one minute.
QUICK = {"hpcc on 2, 2 hosts", "hpcc on 2, 2 hosts killed", "netpipe -i on 2, 2 hosts", "netpipe -i on 2, here, shm", "mpi4py on 4, 4 hosts",
         "mpi4py on 4, 2 hosts by 2 watched", "checkpoint ompio on 4, 2 hosts by 2", "checkpoint on 4, 2 hosts by 2 killed", "everyone on 32, here, tcp", "everyone on 32, here, shm"}


def cases_of(pml):
    for program in PROGRAMS.values():
        if pml == "ofi" and program.name == "mpi4py":   # an MPI_Issend that MPI_Mrecv takes never ends over mtl ofi, whatever the provider
            continue
        for place in PLACES.values():
            place = place if program.any_ranks else dataclasses.replace(place, ranks=2)
            if place.per_host > 1 and place.ranks == 2:
                continue
            for variant in program.variants:
                yield Case(program, place, pml, variant)
            yield Case(program, place, pml, killed=True)
    if pml == "linnet":
        for program in ("hpcc", "mpi4py"):
            yield Case(PROGRAMS[program], PLACES["2 hosts by 2"], pml, watched=True)
    for ranks in (32, 64):
        for place in (PLACES["here, tcp"], PLACES["here, shm"]):
            crowd = dataclasses.replace(place, ranks=ranks)
            yield Case(PROGRAMS["everyone"], crowd, pml, crowded=pml == "linnet")
            yield Case(PROGRAMS["everyone"], crowd, pml, killed=True)


@dataclasses.dataclass
class Job:
    status: int | None      # None: over its time
    text: str
    seconds: float
    problem: str = ""       # a killed job: what is wrong with its end

    @property
    def wrong(self):
        return self.problem or ("not over in time" if self.status is None else f"mpirun ended with {self.status}" if self.status else "")


def stack_options(pml, place, args):
    if pml == "ob1":   # ranks that share a core must yield to each other, or the reference takes minutes
        return ["--mca", "pml", "ob1", "--mca", "btl", place.btl, "--mca", "mpi_yield_when_idle", "1"]
    if pml == "ofi":
        return run_mpi.transport_options(None, argparse.Namespace(pml="ofi", provider="linnet", provider_dir=args.provider_dir, top=None, transports=place.transports))
    transports = args.transports if args.transports and place.per_host else place.transports
    options = ["--mca", "pml", "cm", "--mca", "mtl", "linnet", "--mca", "mtl_linnet_transports", transports]
    if args.plugin_dir:
        options += ["--mca", "mca_base_component_path", f"{args.plugin_dir.resolve()}:SYSTEM_DEFAULT:USER_DEFAULT"]
    return options


def mpirun(pml, place, words, tag, args):
    options = [*stack_options(pml, place, args), *(word for pair in args.mca for word in ("--mca", *pair.split("=", 1))), "-x", f"{TAG}={tag}"]
    own = 0
    while words[own] == "--mca":
        own += 3
    options += words[:own]
    if place.per_host:
        return [str(LAB), "mpirun", "-n", args.lab, "--ppn", str(place.per_host), "-np", str(place.ranks), *options, "--", *words[own:]]
    return [args.mpirun, "-np", str(place.ranks), "--oversubscribe", "--bind-to", "none", *options, *words[own:]]


def ranks_of(tag):
    """{rank: pid} of the processes of a job."""
    found = {}
    wanted = f"{TAG}={tag}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            rank = next((word.split(b"=")[1] for word in environment if word.startswith(b"OMPI_COMM_WORLD_RANK=")), None)
            if wanted in environment and rank is not None:
                found[int(rank)] = int(entry.name)
    return found


def kill_one(process, place, tag, seconds, before):
    """Ends the highest rank once the job runs; returns (when, what is wrong)."""
    deadline = time.monotonic() + seconds
    while len(ranks_of(tag)) < place.ranks:
        if process.poll() is not None or time.monotonic() > deadline:
            return 0.0, "it did not run long enough to be killed"
        time.sleep(0.2)
    time.sleep(2 + place.ranks / 8)      # so that it is in the midst of its work
    victim = ranks_of(tag).get(place.ranks - 1)
    if victim is None or process.poll() is not None:
        return 0.0, "it did not run long enough to be killed"
    if before:
        before(tag)
    os.kill(victim, signal.SIGKILL)
    return time.time(), ""


def judge_end(place, tag, job, took, taken, files_before):
    rank = place.ranks - 1
    if job.status == 0:
        return "mpirun ended with 0 although a rank was killed"
    if took - taken > LONGEST_END:
        return f"it took {took:.1f} s to end, of which the hypervisor took {taken:.1f} s"
    if not re.search(rf"rank {rank} .*on signal 9|linnet: peer [^\n]*rank {rank}[^\n]* is lost", job.text):
        return f"no message names rank {rank}"
    return leftovers.of(lambda: ranks_of(tag).values(), files_before)


def run_job(pml, place, words, folder, args, seconds, killed=False, before=None):
    folder.mkdir(parents=True, exist_ok=True)
    tag = uuid.uuid4().hex
    command = mpirun(pml, place, words, tag, args)
    environment = open_mpi.environment()
    log = folder / "output.log"
    files_before = leftovers.files()
    begin = time.monotonic()
    problem, killed_at, took, taken = "", 0.0, 0.0, 0.0
    with open(log, "w", encoding="utf-8") as out, stolen.Watch() as watch:
        out.write(" ".join(command) + "\n")
        out.flush()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment,
                                   start_new_session=True)
        try:
            if killed:
                killed_at, problem = kill_one(process, place, tag, seconds * args.patience, before)
            status = process.wait(6 * LONGEST_END if killed and not problem else 1 if problem else seconds * args.patience)
        except subprocess.TimeoutExpired:
            run_mpi.end(process)
            status = None
        if killed_at:
            took, taken = time.time() - killed_at, watch.since(killed_at)
    ended = time.monotonic()
    for pid in ranks_of(tag).values() if status is None else ():
        os.kill(pid, signal.SIGKILL)
    job = Job(status, log.read_text(encoding="utf-8", errors="replace"), ended - begin, problem)
    if killed and not problem:
        job.problem = judge_end(place, tag, job, took, taken, files_before)
        job.seconds = took
    return job


def reference_of(case, words, args, key):
    """What the same command says over pml ob1 on this machine; run once."""
    if key not in args.references:
        place = dataclasses.replace(PLACES["here, tcp"], ranks=case.place.ranks)
        job = run_job("ob1", place, words, args.build / f"reference-{key}", args, case.program.seconds)
        args.references[key] = case.program.reference(job.text) if not job.wrong else f"the reference: {job.wrong}"
    return args.references[key]


def differs(case, text, words, args, key):
    mine = case.program.reference(text)
    if mine is None:
        return ""
    theirs = reference_of(case, words, args, key)
    return "" if mine == theirs else f"it says {mine.strip().splitlines()[-1]}, over pml ob1 {theirs.strip().splitlines()[-1]}"


def run_plain(case, folder, args):
    program, place = case.program, case.place
    job = run_job(case.pml, place, program.command(case.variant, place.ranks, folder), folder, args, program.seconds)
    wrong = job.wrong or program.judge(job.text, case.variant, place.ranks, folder)
    if not wrong and program.reference(job.text) is not None:
        key = f"{program.name}-{place.ranks}"
        words = program.in_one_piece(folder, 200) if program.name == "checkpoint" else program.command(case.variant, place.ranks, folder)
        wrong = differs(case, job.text, words, args, key)
    return wrong, job, f"{job.seconds:.1f} s"


def run_killed(case, folder, args):
    program, place = case.program, case.place
    job = run_job(case.pml, place, program.endless(place.ranks, folder), folder, args, program.seconds, killed=True)
    said = f"ended {job.seconds:.1f} s after the kill"
    if job.problem or program.name != "checkpoint":
        return job.problem, job, said
    words, steps = program.resumed(folder, 30)   # from what the killed job left, and it must come out as if nothing had happened
    if words is None:
        return "it left no good checkpoint", job, said
    job = run_job(case.pml, place, words, folder, args, program.seconds)
    wrong = job.wrong or program.judge(job.text, "", place.ranks, folder) or ("" if "resumed at step" in job.text else "it did not resume")
    return wrong or differs(case, job.text, program.in_one_piece(folder, steps), args, f"checkpoint-{steps}"), job, said + f", resumed to step {steps}"


def seen_by_top(place, tag, args):
    """What is wrong with what linnet-top shows of a running job."""
    pids = ranks_of(tag)
    command = [args.top, "--once", "--json", *(word for pid in pids.values() for word in ("--pid", str(pid)))]
    said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    if said.returncode != 0:
        return f"linnet-top ended with {said.returncode}: {said.stderr.strip()}"
    shown = {process["pid"]: process for process in json.loads(said.stdout)["processes"]}
    if sorted(shown) != sorted(pids.values()):
        return f"it shows {sorted(shown)}, the ranks are {sorted(pids.values())}"
    for rank, pid in pids.items():
        process, others = shown[pid], {f"rank {r} (" for r in pids if r != rank}
        counters, peers = process["counters"], [peer for peer in process["peers"] if peer["state"] == "connected"]
        if not process["label"].endswith(f"rank {rank}") or not process["whole"]:
            return f"rank {rank} is shown as {process['label']!r}"
        if not {peer["name"][:peer["name"].find("(") + 1] for peer in peers} & others:
            return f"rank {rank} has the peers {[peer['name'] for peer in process['peers']]}"
        wanted_via = {"shm", "tcp"} if place.per_host > 1 else {place.transports}
        if {peer["via"] for peer in peers} != wanted_via:
            return f"rank {rank} uses {[peer['via'] for peer in peers]}"
        for what in ("tx_messages", "tx_bytes", "rx_messages", "rx_bytes"):
            if counters[what] == 0 or abs(sum(peer[what] for peer in process["peers"]) - counters[what]) > counters[what] / 5:
                return f"rank {rank}: {what} of its peers is {[peer[what] for peer in process['peers']]}, of all {counters[what]}"
    return ""


def run_watched(case, folder, args):
    said = []

    def look(tag):   # a program that has just begun has not spoken to everybody yet
        deadline = time.monotonic() + 30 * args.patience
        wrong = seen_by_top(case.place, tag, args)
        while wrong and time.monotonic() < deadline:
            time.sleep(1)
            wrong = seen_by_top(case.place, tag, args)
        said.append(wrong)

    job = run_job(case.pml, case.place, case.program.endless(case.place.ranks, folder), folder, args, case.program.seconds, killed=True, before=look)
    return job.problem or said[-1], job, "seen by linnet-top"


def run_crowded(case, folder, args):
    """Turn about with the TCP BTL whose ranks yield, the best of up to three each, since other programs may run here: seconds a round."""
    program, place = case.program, case.place
    theirs_place = dataclasses.replace(PLACES["here, tcp"], ranks=place.ranks)
    command = program.at_least(CROWDED_SECONDS)
    ours, theirs = [], []
    for _ in range(3):
        job = run_job("linnet", place, command, folder, args, program.seconds)
        wrong = job.wrong or program.judge(job.text, "", place.ranks, folder)
        other = run_job("ob1", theirs_place, command, args.build / f"reference-everyone-{place.ranks}", args, program.seconds)
        if wrong or other.wrong:
            return wrong or f"pml ob1: {other.wrong}", job, ""
        ours.append(program.round_took(job.text))
        theirs.append(program.round_took(other.text))
        if min(ours) <= CROWDED_RATIO * min(theirs):
            break
    said = f"{min(ours):.2f} s a round, the TCP BTL with yield {min(theirs):.2f} s"
    return "" if min(ours) <= CROWDED_RATIO * min(theirs) else f"{said}: more than {CROWDED_RATIO} times as long", job, said


def conditions(case, args):
    return ", ".join(word for word in (case.pml, args.transports, args.label) if word)


def run(case, args):
    folder = args.build / case.folder
    folder.mkdir(parents=True, exist_ok=True)
    how = run_killed if case.killed else run_watched if case.watched else run_crowded if case.crowded else run_plain
    wrong, job, said = how(case, folder, args)
    print(f"{'FAIL' if wrong else 'PASS'}: {case.name} ({conditions(case, args)}; {said}){': ' + wrong if wrong else ''}", flush=True)
    if wrong:
        print("".join(f"    {line}\n" for line in job.text.splitlines()[-12:]), f"    whole output: {folder / 'output.log'}", sep="", flush=True)
    return wrong


def compile_programs(build, mpicc):
    Compiled.build = build
    build.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS.values():
        if isinstance(program, Compiled):
            source, out = HERE / f"{program.name}.c", pathlib.Path(program.path)
            if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
                subprocess.run([mpicc, "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-o", out, source, "-lm"], check=True)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pml", choices=("linnet", "ofi", "ob1", "both"), default="linnet",
                        help="what carries the messages (default: linnet); ofi: Open MPI's own mtl ofi over the libfabric provider; both: ob1 and linnet")
    parser.add_argument("--provider-dir", type=pathlib.Path, help="folder of liblinnet-fi.so, for --pml ofi, when it is not among libfabric's own")
    parser.add_argument("--plugin-dir", type=pathlib.Path, help="folder of mca_mtl_linnet.so, when it is not installed")
    parser.add_argument("--lab", metavar="NAME", help="a lab of four hosts (tests/lab); without, only what runs on this machine")
    parser.add_argument("--transports", default="", metavar="LIST", help="Linnet's setting of this name for jobs between hosts (default: shm,tcp, as far as needed)")
    parser.add_argument("--label", default="", help="said with the name of each case")
    parser.add_argument("--top", default=shutil.which("linnet-top"), metavar="FILE", help="linnet-top, for watched jobs (default: from the path)")
    parser.add_argument("--quick", action="store_true", help="a choice that takes a minute")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("program-tests"), help="folder for programs and output")
    parser.add_argument("--mca", action="append", default=[], metavar="NAME=VALUE", help="further MCA parameter; may be repeated")
    parser.add_argument("--patience", type=float, default=1.0, help="multiplies every time limit but that for the end of a killed job")
    parser.add_argument("-k", dest="select", default="", metavar="REGEX", help="only the cases whose name matches")
    parser.add_argument("--clocked", choices=("only", "without"),
                        help="only the jobs judged by how soon they end, for which nothing else should run here, or all the others (default: both)")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="append a line per case: verdict, program, case, reason")
    parser.add_argument("--list", action="store_true", help="only list them")
    args = parser.parse_args(argv)
    args.build = args.build.resolve()
    args.references = {}
    return args


def main(argv):
    args = parse(argv)
    stacks = ("ob1", "linnet") if args.pml == "both" else (args.pml,)
    cases = [case for pml in stacks for case in cases_of(pml) if (not args.quick or case.name in QUICK) and
             (args.lab or not case.place.per_host) and (args.clocked is None or (args.clocked == "only") == (case.killed or case.watched)) and
             re.search(args.select, case.name)]
    if args.list:
        print("\n".join(f"{case.name} ({case.pml})" for case in cases))
        return 0
    args.mpirun = run_mpi.find_tool("OMPI_MPIRUN", "mpirun.openmpi", "mpirun")
    mpicc = run_mpi.find_tool("OMPI_MPICC", "mpicc.openmpi", "mpicc")
    if not args.mpirun or not mpicc or not cases:
        print("SKIP: no Open MPI, or no such case")
        return SKIP
    compile_programs(args.build, mpicc)
    verdicts = []
    for case in cases:
        missing = case.program.missing() or ("linnet-top is not there (--top)" if case.watched and not shutil.which(args.top or "") else "")
        if missing:
            print(f"SKIP: {case.name} ({case.pml}): {missing}", flush=True)
        wrong = missing or run(case, args)
        verdicts.append("skip" if missing else "fail" if wrong else "pass")
        if args.results:
            with open(args.results, "a", encoding="utf-8") as table:
                print(verdicts[-1], "run_programs", f"{case.name} ({conditions(case, args)})", wrong, sep="\t", file=table)
    print(f"{verdicts.count('pass')} passed, {verdicts.count('fail')} failed, {verdicts.count('skip')} skipped")
    return 1 if "fail" in verdicts else 0 if "pass" in verdicts else SKIP


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
