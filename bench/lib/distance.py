# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# How far apart the processors of the first two ranks are: what a line of memory takes from one to the other. A hypervisor puts them near each other or far,
# and moves them between two programs; a message through memory then takes half or twice the time, whatever the stack.

import os
import subprocess

FAR = 2.0   # times the short way (of which a tenth of all looks are shorter), and more
KINDS = NEAR, FAR_AWAY, CHANGED = "near", "far", "changed"


def turns_of(turns):
    return f"{len(turns)} turn" + ("s" if len(turns) != 1 else "")


class Watch:
    """What was seen in each turn: before its first job, and behind each."""

    def __init__(self, program):
        """`program`: core_line of bench/micro, or None. Without it, or with one processor alone, nothing is ever seen."""
        cores = sorted(os.sched_getaffinity(0))[:2]
        possible = program is not None and program.exists() and len(cores) == 2
        self._command = [str(program), "--cores", ",".join(map(str, cores))] if possible else None
        self.turns = []   # of nanoseconds

    def begin_turn(self):
        self.turns.append([])
        self.look()

    def look(self):
        if self._command:
            done = subprocess.run(self._command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                self.turns[-1].append(float(done.stdout))
            else:   # a processor is ours no more
                self._command = None

    def kinds(self):
        """{NEAR or FAR_AWAY: the turns in which every look saw that, CHANGED: the others}. Empty if nothing was seen."""
        if not self._command or not self.turns:
            return {}
        every = sorted(look for turn in self.turns for look in turn)
        edge = FAR * every[len(every) // 10]   # now and then one finds both on one core
        found = {}
        for turn, looks in enumerate(self.turns):
            far = {look >= edge for look in looks}
            kind = CHANGED if len(far) == 2 else FAR_AWAY if True in far else NEAR
            found.setdefault(kind, []).append(turn)
        return found

    def text(self):
        """One line for people, or none."""
        kinds = self.kinds()
        said = []
        for kind in (kind for kind in KINDS if kind in kinds):
            looks = [look for turn in kinds[kind] for look in self.turns[turn]]
            said.append(f"{min(looks):.0f} to {max(looks):.0f} ns in {turns_of(kinds[kind])}" + (f" ({kind})" if len(kinds) > 1 else ""))
        return "a line of memory took from one processor to the other " + ", ".join(said) if said else ""


def values_of(turns, values):
    """{stack: {metric: {point: [value of each of these turns]}}} of the values of all turns; points that were not measured in each turn are left out."""
    every = max((len(found) for per_metric in values.values() for points in per_metric.values() for found in points.values()), default=0)
    return {stack: {metric: {x: [found[turn] for turn in turns] for x, found in points.items() if len(found) == every}
                    for metric, points in per_metric.items()} for stack, per_metric in values.items()}
