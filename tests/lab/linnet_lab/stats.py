# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What the links of a lab have carried and lost.

import json

from . import fault
from .machine import run


def interface(namespace, device):
    link = json.loads(run("ip", "-n", namespace, "-s", "-j", "link", "show", "dev", device))[0]
    counted = {"carrier": "LOWER_UP" in link["flags"]}
    for way in ("rx", "tx"):
        for what in ("packets", "bytes", "dropped"):
            counted[f"{way}_{what}"] = link["stats64"][way][what]
    return counted


def port_queue(lab, host):
    """The output queue of a host's switch port, where the lab has a rate."""
    qdiscs = json.loads(run("tc", "-n", lab.switch_namespace, "-s", "-j", "qdisc", "show",
                            "dev", f"p{lab.index(host)}"))
    queue = next(qdisc for qdisc in qdiscs if qdisc["kind"] == "tbf")
    return {"packets": queue["packets"], "bytes": queue["bytes"], "dropped": queue["drops"],
            "queued_bytes": queue["backlog"]}


def collect(lab):
    hosts = {}
    for host in lab.host_names:
        row = {"address": lab.address(host), "eth0": interface(lab.namespace(host), "eth0")}
        if lab.rate:
            row["port"] = port_queue(lab, host)
        for direction in ("in", "out"):
            hook = fault.Hook(lab, host, direction)
            if hook.key in lab.faults:
                row[direction] = {"settings": lab.faults[hook.key], "counters": fault.counters(hook)}
        hosts[host] = row
    return {"name": lab.name, "hosts": hosts}


def words(counted):
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in counted.items())


def show(lab):
    for host, row in collect(lab)["hosts"].items():
        print(f"{host} {row['address']}")
        print(f"  eth0: {words(row['eth0'])}")
        if "port" in row:
            print(f"  port: {words(row['port'])}")
        for direction in ("in", "out"):
            if direction in row:
                asked = {name: value for name, value in row[direction]["settings"].items() if value}
                print(f"  faults {direction} ({words(asked)}): {words(row[direction]['counters'] or {})}")
