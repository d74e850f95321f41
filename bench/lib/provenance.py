# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Where numbers come from: commit, compiler, machine, kernel, lab.

import datetime
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (done.stdout or done.stderr).strip().splitlines()[0]


def _read(path, default="none"):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return default


def _cpu_model():
    for line in _read("/proc/cpuinfo", "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def collect(lab, arguments):
    """Everything that a reader needs to judge the numbers, as a flat dictionary."""
    host = lab.hosts[0]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _first_line("git", "describe", "--always", "--dirty"),
        "compiler": _first_line("mpicc", "--version"),
        "mpi": _first_line("mpirun", "--version"),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "loadavg": _read("/proc/loadavg"),
        "kernel": platform.release(),
        "mtu": lab.on(host, "cat", "/sys/class/net/eth0/mtu").strip(),
        "congestion": lab.on(host, "sysctl", "-n", "net.ipv4.tcp_congestion_control").strip(),
        "lab": {k: v for k, v in lab.description.items() if k in ("name", "topology", "mtu", "rate")},
        "hosts": len(lab.hosts),
        "arguments": arguments,
    }


def line(facts):
    """One line for people."""
    lab = facts["lab"]
    rate = lab["rate"] or "no rate limit"
    return (f"{facts['commit']}, {facts['compiler']}, {facts['mpi']}, {facts['cpus']} x {facts['cpu']}, governor "
            f"{facts['governor']}, load {facts['loadavg']}, kernel {facts['kernel']}, {facts['hosts']} hosts, "
            f"{lab['topology']}, {rate}, MTU {facts['mtu']}, {facts['congestion']}")
