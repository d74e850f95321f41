# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The lab as the benchmarks see it: hosts, interface counters, mpirun.

import json
import os
import pathlib
import shlex
import subprocess

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tests" / "lab" / "lab"
FLAGS = ("v6", "segment", "checksums")  # options of "lab up" without a value
FAULTS = ("loss", "duplicate", "corrupt", "every", "delay", "reorder")   # of what each host receives: options of "lab fault"


class LabError(RuntimeError):
    """The lab refused; the text is what it said."""


def _run(*argv):
    done = subprocess.run([str(TOOL), *argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"lab {shlex.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def up_options(text):
    """'hosts=2 rate=10gbit segment' as options of "lab up"."""
    options = []
    for word in text.split():
        name, equals, value = word.partition("=")
        if bool(equals) == (name in FLAGS):
            raise LabError(f"not an option of a lab: {word!r}")
        options += [f"--{name}", value] if equals else [f"--{name}"]
    return options


def split_faults(text):
    """(options of the lab, options of "lab fault") of 'hosts=2 segment loss=0.001'."""
    words = text.split()
    faults = [word for word in words if word.partition("=")[0] in FAULTS]
    return " ".join(word for word in words if word not in faults), up_options(" ".join(faults))


def parse_net_dev(text):
    """/proc/net/dev as {interface: (received bytes, sent bytes)}."""
    counters = {}
    for line in text.splitlines():
        name, colon, fields = line.partition(":")
        numbers = fields.split()
        if colon and len(numbers) >= 16:
            counters[name.strip()] = (int(numbers[0]), int(numbers[8]))
    return counters


class Lab:
    """A lab that is up. As a context manager it removes the lab if it made it."""

    def __init__(self, name, made=False):
        self.name = name
        self._made = made
        known = {row["name"]: row for row in json.loads(_run("list", "--json"))}
        if name not in known:
            raise LabError(f"no lab named {name!r}; lab up -n {name} makes it")
        self.description = known[name]
        self.addresses = known[name]["hosts"]
        self.hosts = list(self.addresses)

    @classmethod
    def make(cls, options):
        name = f"cmp{os.getpid()}"
        wanted, faults = split_faults(options)
        ours = True
        try:
            try:
                _run("up", "-n", name, *up_options(wanted))
            except LabError:   # it took back what it had begun, and one of this name that is up already is not ours
                ours = False
                raise
            made = cls(name, made=True)
            for host in made.hosts if faults else ():
                _run("fault", "-n", name, host, *faults)
        except BaseException:   # also when we are interrupted: nobody else would remove it
            if ours:
                subprocess.run([str(TOOL), "down", "-n", name], capture_output=True, check=False)
            raise
        return made

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._made:
            _run("down", "-n", self.name)

    def on(self, host, *command):
        """The output of a command on a host."""
        return _run("exec", "-n", self.name, host, "--", *command)

    def counters(self):
        """{host: {interface: (received, sent)}}; the hosts are asked at the same time."""
        asked = {host: subprocess.Popen([str(TOOL), "exec", "-n", self.name, host, "--", "cat", "/proc/net/dev"],
                                        stdout=subprocess.PIPE, text=True) for host in self.hosts}
        found = {}
        for host, process in asked.items():
            found[host] = parse_net_dev(process.communicate()[0])
            if process.returncode != 0 or "eth0" not in found[host]:
                raise LabError(f"cannot read the interface counters of {host}")
        return found

    def host_of(self, reported):
        """The host whose name a program reported: NAME-h0, or h0."""
        for host in self.hosts:
            if reported in (host, f"{self.name}-{host}"):
                return host
        raise LabError(f"a program ran on {reported!r}, which is no host of the lab {self.name!r}")

    def mpirun(self, per_host, pin, options, program):
        """The command line that starts a job."""
        return [str(TOOL), "mpirun", "-n", self.name, "--ppn", str(per_host), *(["--pin"] if pin else []), *options, "--",
                *program]
