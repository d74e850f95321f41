# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs the stacks of a measurement turn about and collects their values.

import json
import os
import pathlib
import shlex
import signal
import subprocess

from . import distance, proof, quiet, stacks

ATTEMPTS = 3  # at a job that says it was disturbed: enough on a machine with moments of rest
DISTURBED = "disturbed:"  # how such a note of a program begins
GRACE = 30  # seconds between a program's own limit and ours


class TurnError(RuntimeError):
    """A turn that gave no valid result; the text says why."""


def find_programs(build):
    """The folder bench/ with the compiled programs."""
    here = pathlib.Path(__file__).resolve().parents[1]
    tried = [pathlib.Path(build) / "bench"] if build else [pathlib.Path.cwd() / "bench", here]
    for folder in tried:
        if (folder / "mpi" / "pingpong").exists():
            return folder.resolve()
    raise TurnError("the benchmark programs are not built (looked in " + ", ".join(str(t / "mpi") for t in tried) +
                    "); make, then give the build tree with --build")


def result_line(output):
    """The program's JSON among whatever else the job printed."""
    found = [line for line in output.splitlines() if line.startswith('{"bench":')]
    if len(found) != 1:
        raise TurnError(f"expected one result line, found {len(found)}")
    return json.loads(found[0])


def run_job(command, limit):
    """The job's standard output. A job that fails or outlives its limit is a TurnError with its last words."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException as stopped:
        process.terminate()  # mpirun takes its ranks along
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if isinstance(stopped, subprocess.TimeoutExpired):
            raise TurnError(f"did not end within {limit:.0f} s: {shlex.join(command)}") from None
        raise
    if process.returncode != 0:
        words = (errors.strip() or output.strip()).splitlines()[-25:]
        raise TurnError(f"exit status {process.returncode}: {shlex.join(command)}\n  " + "\n  ".join(words))
    return output


class Runner:
    """One measurement in one lab. Results: {stack: {metric: {point: [values]}}}, complete turns only."""

    def __init__(self, lab, measurement, chosen, options):
        self.lab, self.measurement, self.stacks, self.options = lab, measurement, chosen, options
        self.programs = find_programs(options.build)
        self.values = {s.name: {} for s in chosen}
        self.units = {}     # metric: (unit, better)
        self.facts = {s.name: [] for s in chosen}
        self.counters = {s.name: {} for s in chosen}   # {stack: {"counter NAME": {0: [per 1000 messages, each job]}}}
        self.notes = []
        self.disturbed = set()   # stacks with a turn that no attempt could measure
        self.failed = {}    # stack: why it left
        self.commands = {}
        self.pin = measurement.pin if options.pin is None else options.pin
        self.watch = quiet.Watch()
        self.distance = distance.Watch(self.programs / "micro" / "core_line" if self.pin else None)

    def _program(self, stack):
        m, o = self.measurement, self.options
        name = self.programs / (f"micro/{stack.raw}" if stack.raw else f"mpi/{m.program}")
        args = [str(name), *m.args, *stack.args, "--seconds", str(o.seconds), "--limit", str(o.limit)]
        args += ["--sizes", o.sizes] if o.sizes else []
        args += ["--verify"] if o.verify else []
        args += ["--address", self.lab.addresses[self.lab.hosts[0]]] if stack.raw else []
        return args + o.program_args

    def _jobs(self, stack):
        """The turn's command lines."""
        m, o = self.measurement, self.options
        if o.place == stacks.HOST:
            jobs = [(n, n, []) for n, _, _ in m.jobs(o.idle, 1, o.per_host or (2 if m.per_host == 1 else m.per_host))]
        else:
            jobs = m.jobs(o.idle, len(self.lab.hosts), o.per_host or m.per_host)
        return [self.lab.mpirun(slots, self.pin, ["-np", str(ranks), *more, *stack.mpirun_options(), *o.mpirun_args],
                                self._program(stack)) for ranks, slots, more in jobs]

    def _one_job(self, stack, command):
        for _ in range(ATTEMPTS):
            before = self.lab.counters()
            report = result_line(run_job(command, self.options.limit + GRACE))
            after = self.lab.counters()
            problems = proof.check(stack, self.options.place, report, before, after, self.lab.host_of)
            if problems:
                raise TurnError("the named path did not carry the bytes: " + "; ".join(problems))
            if not any(n.startswith(DISTURBED) for n in report["notes"]):
                break
        else:
            self.disturbed.add(stack.name)
        self.facts[stack.name].append(proof.facts(report, before, after, self.lab.host_of))
        for name, value in proof.counters(report).items():
            self.counters[stack.name].setdefault(f"counter {name}", {}).setdefault(0, []).append(value)
        self.notes += [n for n in report["notes"] if n not in self.notes]
        return report["rows"]

    def _turn(self, stack):
        jobs = self._jobs(stack)
        self.commands[stack.name] = [shlex.join(command) for command in jobs]
        rows = [row for command in jobs for row in self._one_job(stack, command)]
        if not rows:
            raise TurnError("the program reported nothing")
        for row in rows:
            self.units[row["metric"]] = (row["unit"], row["better"])
            self.values[stack.name].setdefault(row["metric"], {}).setdefault(row["x"], []).append(row["value"])
        return rows

    def run(self, say):
        """All turns. A stack whose turn fails is dropped from the comparison and named in `failed`."""
        for turn in range(self.options.turns):
            self.watch.look()
            self.distance.begin_turn()
            for stack in self.stacks:
                if stack.name in self.failed:
                    continue
                say(f"turn {turn + 1}/{self.options.turns} {stack.name}")
                try:
                    self._turn(stack)
                    self.distance.look()
                except TurnError as error:
                    self.failed[stack.name] = f"turn {turn + 1}: {error}"
                    say(f"{stack.name} leaves: {error}\n")
        for name in self.failed:
            self.values.pop(name)
            self.facts.pop(name)
            self.counters.pop(name)
