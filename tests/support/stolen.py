# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What the hypervisor took: where a bound in seconds is judged, time in which no processor of this machine ran is not the job's.
"""For scripts: without arguments it prints a moment (the time, and what had been taken); with such a moment the seconds since then, and how many were taken."""

import os
import sys
import threading
import time

EVERY = 0.1   # seconds


def stolen():
    """Seconds for which a hypervisor has kept a processor of this machine from running, on the average of all (proc_stat(5): steal); 0 if it does not say."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = stat.readline().split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1) if len(fields) > 8 else 0.0


class Watch:
    """Looks on in the background from its making until `with` ends."""

    def __enter__(self):
        self._looks = [(time.time(), stolen())]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(EVERY):
            self._looks.append((time.time(), stolen()))

    def since(self, begin):
        """Seconds that were taken from time.time() `begin` until now."""
        before = [taken for when, taken in self._looks if when >= begin]   # the first look behind it: rather too little than too much
        return stolen() - before[0] if before else 0.0


def main(argv):
    before = [float(word) for word in argv] or [0.0, 0.0]
    print(*(f"{after - then:.3f}" for after, then in zip((time.time(), stolen()), before)))


if __name__ == "__main__":
    main(sys.argv[1:])
