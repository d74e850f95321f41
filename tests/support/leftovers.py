# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What a job left on this machine when it ended badly: processes, and files of Linnet's.

import os
import pathlib
import time

PLACES = ("/dev/shm", "/tmp")
LONGEST = 0.5   # seconds that the kernel may take for the end of a process after its launcher is gone


def files():
    """Linnet's, which shall have none there. Folders are of the tests that run beside this one."""
    return {entry.path for place in PLACES for entry in os.scandir(place) if "linnet" in entry.name.lower() and not entry.is_dir(follow_symlinks=False)}


def processes(program):
    """The process ids of those that run the program."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                yield int(entry.name)
        except OSError:   # it is no more
            continue


def of(running, files_before):
    """What is there of a job that is over: `running()` lists its processes. A text, empty if nothing is."""
    deadline = time.monotonic() + LONGEST
    while (left := list(running())) and time.monotonic() < deadline:
        time.sleep(0.1)
    fresh = sorted(files() - files_before)
    return f"processes are left: {left}" if left else f"files are left: {' '.join(fresh)}" if fresh else ""
