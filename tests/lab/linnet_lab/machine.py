# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What the lab asks of the machine: commands, privilege, and the processes inside a namespace.

import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_UNABLE = 77  # the machine or the caller cannot do it at all: a test harness reads it as "skipped"

CAP_NET_ADMIN = 12
CAP_SYS_ADMIN = 21

# What the kernel and its tools say when the machine cannot do it, whatever the arguments.
UNABLE = ("Operation not permitted", "Operation not supported", "Unknown device type", "qdisc kind is unknown")

NAMESPACES = pathlib.Path("/run/netns")  # where ip(8) keeps the named ones


class LabError(Exception):
    """A failure told to the user in one line; `code` is the exit status."""

    def __init__(self, message, code=EXIT_FAILURE):
        super().__init__(message)
        self.code = code


def run(*argv, stdin=None):
    """Runs a command to its end and returns its output; a failure carries the command's own words.

    The command inherits the lab's lock: if this process is killed, the lock is free only when the command has ended."""
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False, close_fds=False)
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed", EXIT_UNABLE) from None
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
        code = EXIT_UNABLE if any(words in said for words in UNABLE) else EXIT_FAILURE
        raise LabError(f"{' '.join(argv)}: {said}", code)
    return done.stdout


def run_in(namespace, *argv, stdin=None):
    """Runs a command in a network namespace only: no other mount table, no other host name."""
    return run("nsenter", f"--net={NAMESPACES / namespace}", *argv, stdin=stdin)


def ip_batch(lines, namespace=None):
    """Gives many ip(8) commands to one process."""
    where = ["-n", namespace] if namespace else []
    run("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")


def is_namespace(name):
    """False for what is not there, and for the empty file that ip(8) leaves if it is killed at the wrong time."""
    try:
        return os.stat(NAMESPACES / name).st_dev == os.stat("/proc/self/ns/net").st_dev
    except FileNotFoundError:
        return False


def require_privilege():
    """Refuses with EXIT_UNABLE unless this process may make namespaces and links."""
    effective = 0
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            effective = int(line.split()[1], 16)
    missing = [name for bit, name in ((CAP_SYS_ADMIN, "CAP_SYS_ADMIN"), (CAP_NET_ADMIN, "CAP_NET_ADMIN"))
               if not effective >> bit & 1]
    if missing or os.geteuid() != 0:
        lacking = f" (it lacks {' and '.join(missing)})" if missing else ""
        raise LabError(f"making network namespaces needs root, and this process is not allowed to{lacking}; "
                       "run it as root, for example with sudo", EXIT_UNABLE)


def require_tools(*names):
    """Refuses with EXIT_UNABLE unless every program is installed."""
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        raise LabError(f"not installed: {', '.join(missing)} (docs/lab.md lists the packages)", EXIT_UNABLE)


def processes_in(namespaces):
    """Ids of the processes whose network namespace is one of the named ones."""
    stats = [os.stat(NAMESPACES / name) for name in namespaces if is_namespace(name)]
    wanted = {(stat.st_dev, stat.st_ino) for stat in stats}
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = os.stat(f"/proc/{entry}/ns/net")
        except OSError:  # it ended, or it is a zombie
            continue
        if (stat.st_dev, stat.st_ino) in wanted:
            found.append(int(entry))
    return found


def end_processes(pids, signal_number, patience):
    """Sends a signal and waits until each process has ended, at most `patience` seconds in all."""
    poller = select.poll()
    waiting = set()
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
            signal.pidfd_send_signal(fd, signal_number)
        except ProcessLookupError:
            continue
        poller.register(fd, select.POLLIN)
        waiting.add(fd)
    deadline = time.monotonic() + patience
    while waiting and (left := deadline - time.monotonic()) > 0:
        for fd, _ in poller.poll(left * 1000):
            poller.unregister(fd)
            waiting.discard(fd)
            os.close(fd)
    for fd in waiting:
        os.close(fd)


def end_processes_in(namespaces):
    """Ends every process inside the namespaces, politely first; repeats, for they may start others meanwhile."""
    pids = processes_in(namespaces)
    if os.getpid() in pids:
        raise LabError("this command runs inside the lab that it should remove; run it from outside")
    end_processes(pids, signal.SIGTERM, 0.5)
    for _ in range(20):
        pids = processes_in(namespaces)
        if not pids:
            return
        end_processes(pids, signal.SIGKILL, 1)
    raise LabError(f"these processes do not end: {' '.join(map(str, pids))}")
