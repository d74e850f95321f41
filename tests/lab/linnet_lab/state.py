# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What a lab is, and its record on disk: written before anything is made, so that a lab that was cut short can be removed.

import contextlib
import dataclasses
import fcntl
import ipaddress
import json
import os
import pathlib
import re
import shutil

from .machine import NAMESPACES, LabError

ROOT = pathlib.Path(os.environ.get("LINNET_LAB_RUN", "/run/linnet-lab"))
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
HOSTS_MAX = 250  # one /24, without its first and last addresses


@dataclasses.dataclass
class Lab:
    """One lab. Everything it owns outside its directory carries the prefix linnet.NAME. in its name."""

    name: str
    hosts: int
    topology: str  # "veth" | "switch"
    subnet: str  # IPv4, a /24
    mtu: int = 1500
    v6: bool = False
    segment: bool = False
    checksums: bool = False
    congestion: str = "cubic"
    rate: str = ""  # "" is unlimited; else tc(8)'s notation, as the two that follow
    port_buffer: str = ""
    burst: str = ""
    faults: dict = dataclasses.field(default_factory=dict)  # "h0 in" -> the settings in force

    @property
    def directory(self):
        return ROOT / self.name

    @property
    def host_names(self):
        return [f"h{i}" for i in range(self.hosts)]

    @property
    def switch_namespace(self):
        return f"linnet.{self.name}.switch"

    @property
    def namespaces(self):
        own = [self.namespace(host) for host in self.host_names]
        return own + [self.switch_namespace] if self.topology == "switch" else own

    def namespace(self, host):
        return f"linnet.{self.name}.{host}"

    def index(self, host):
        """Number of a host given as h3 or 3."""
        text = host[1:] if host.startswith("h") else host
        if not text.isdigit() or int(text) >= self.hosts:
            raise LabError(f"lab {self.name} has no host {host}: its hosts are h0 to h{self.hosts - 1}")
        return int(text)

    def address(self, host):
        return str(ipaddress.ip_network(self.subnet)[self.index(host) + 1])

    def address_v6(self, host):
        third, fourth = ipaddress.ip_network(self.subnet).network_address.packed[1:3]
        return f"fd4c:696e:0:{third:02x}{fourth:02x}::{self.index(host) + 1:x}"

    def save(self):
        """Replaces the record in one step; a reader sees the old one or the new one."""
        self.directory.mkdir(parents=True, exist_ok=True)
        fresh = self.directory / "lab.json.new"
        fresh.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")
        os.replace(fresh, self.directory / "lab.json")



def check_name(name):
    if not NAME_PATTERN.fullmatch(name):
        raise LabError(f"'{name}' is no name for a lab: small letters, digits and hyphens, 32 at most")


@contextlib.contextmanager
def locked():
    """Held while labs are made or removed: two commands at once would choose the same subnet."""
    ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
    with open(ROOT / ".lock", "w") as lock:
        os.set_inheritable(lock.fileno(), True)  # see machine.run
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find(name):
    """The lab of that name, or None."""
    try:
        return Lab(**json.loads((ROOT / name / "lab.json").read_text()))
    except FileNotFoundError:
        return None


def forget(name):
    """Removes a lab's record, or what a killed command left of one."""
    shutil.rmtree(ROOT / name, ignore_errors=True)


def load(name):
    check_name(name)
    lab = find(name)
    if not lab:
        raise LabError(f"there is no lab '{name}'; 'lab list' shows those that are")
    return lab


def recorded_names():
    if not ROOT.is_dir():
        return []
    return [path.name for path in sorted(ROOT.iterdir()) if NAME_PATTERN.fullmatch(path.name)]


def all_labs():
    return [lab for lab in map(find, recorded_names()) if lab]


def refuse_foreign(lab):
    """A namespace of the lab's name that no record speaks of is not ours to use or to remove."""
    taken = [name for name in lab.namespaces if (NAMESPACES / name).exists()]
    if taken:
        raise LabError(f"there are namespaces that this lab would make: {' '.join(taken)}; choose another name")
