# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Is the machine ours? What a hypervisor or other programs take from a process that only looks at the clock; /proc/stat tells of the latter alone where the
# former does not account for what it takes.

import array
import os
import time

LEAST_GAP = 300_000   # ns between two looks at the clock; interrupts take less
LOOK = 0.05           # seconds, on every processor at once
BEARABLE = 0.01       # of the time; above, the table says so


def gaps(clock, duration):
    """Of a clock in ns that is read again and again for so long: how long that took, and the gaps between two readings in which another had the processor."""
    begin = last = clock()
    found = []
    while last - begin < duration:
        now = clock()
        if now - last > LEAST_GAP:
            found.append(now - last)
        last = now
    return last - begin, found


def _look_on(cpu, seconds, out):
    os.sched_setaffinity(0, {cpu})
    ran, found = gaps(time.monotonic_ns, int(seconds * 1e9))
    os.write(out, array.array("q", [ran, sum(found), max(found, default=0)]).tobytes())


class Watch:
    """What was taken away in all looks so far."""

    def __init__(self):
        self.ran = self.taken = self.longest = 0

    def look(self, seconds=LOOK):
        """Takes so long, on every processor that we may use at once. One of them that another keeps for longer is waited for."""
        children = []
        for cpu in sorted(os.sched_getaffinity(0)):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    _look_on(cpu, seconds, writer)
                finally:
                    os._exit(0)
            os.close(writer)
            children.append((pid, reader))
        for pid, reader in children:
            words = array.array("q", os.read(reader, 24))
            os.close(reader)
            os.waitpid(pid, 0)
            if len(words) == 3:   # else it could not be pinned there
                self.add(*words)

    def add(self, ran, taken, longest):
        self.ran += ran
        self.taken += taken
        self.longest = max(self.longest, longest)

    @property
    def share(self):
        return self.taken / self.ran if self.ran else 0.0

    def facts(self):
        return {"share": self.share, "longest_ms": self.longest / 1e6, "looked_ms": self.ran / 1e6}

    def text(self):
        """One line for people."""
        said = f"between the turns others had the processors for {100 * self.share:.1f} % of the time, at most {self.longest / 1e6:.1f} ms on end"
        return said + (": believe no difference that is not many times that" if self.share > BEARABLE else "")
