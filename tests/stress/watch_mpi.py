#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs an MPI job that talks; when it falls silent, prints each rank's stacks and statistics before ending it.
"""usage: watch_mpi.py --program FILE [--silence SECONDS] [--top FILE] -- COMMAND...

COMMAND starts the job, whose processes run FILE on this machine (also on hosts of a lab: they share its processes). Its output goes through. When no
line came for SECONDS (default 20), the stack of every thread of every process of FILE is printed (gdb), and what the statistics page of each says
(linnet-top); then the job is ended. Exit status: the job's; 124 when it was silent."""

import argparse
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys


def processes_of(program):
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.path.samefile(entry / "exe", program):
                    yield int(entry.name)
            except OSError:
                continue


def say(command, seconds=60):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        print(done.stdout + done.stderr, flush=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", flush=True)


def examine(args):
    found = sorted(processes_of(args.program))
    print(f"silent for {args.silence:.0f} s; {len(found)} processes: {found}", flush=True)
    for pid in found:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        print(f"==== process {pid}: {[line for line in status.splitlines() if line.startswith(('State', 'voluntary', 'nonvoluntary'))]}", flush=True)
        if shutil.which("gdb"):
            say(["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "set pagination off", "-ex", "thread apply all bt 25"])
        if args.top:
            say([str(args.top), "--once", "--counters", "--peers", "--pid", str(pid)])


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--silence", type=float, default=20)
    parser.add_argument("--top", type=pathlib.Path)
    parser.add_argument("--quiet", action="store_true", help="show the last line of each kind only when it fell silent")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args(argv)
    job = subprocess.Popen(args.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    last = b""
    while True:
        ready, _, _ = select.select([job.stdout], [], [], args.silence)
        if not ready:
            print(last.decode(errors="replace"), flush=True)
            examine(args)
            os.killpg(job.pid, signal.SIGTERM)
            try:
                job.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
            return 124
        data = os.read(job.stdout.fileno(), 65536)
        if not data:
            return job.wait()
        last = (last + data)[-400:]
        if not args.quiet:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
