# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Making and removing the namespaces and links of a lab.

import ipaddress
import json
import pathlib
import zlib

from . import state
from .machine import NAMESPACES, LabError, end_processes_in, ip_batch, is_namespace, run, run_in

FIRST_NET = ipaddress.ip_address("10.64.0.0")  # labs live in 10.64.0.0/10
NETS = 1 << 14  # as many /24 as that holds


def networks_in_use():
    """Every IPv4 network this machine has a route to, and those of the other labs."""
    used = [ipaddress.ip_network(lab.subnet) for lab in state.all_labs()]
    for route in json.loads(run("ip", "-j", "-4", "route", "show", "table", "all") or "[]"):
        if route["dst"] != "default":
            used.append(ipaddress.ip_network(route["dst"], strict=False))
    return used


def choose_subnet(name):
    """A /24 that depends on the name alone as long as nothing else uses it."""
    used = networks_in_use()
    start = zlib.crc32(name.encode())
    for step in range(NETS):
        net = ipaddress.ip_network((int(FIRST_NET) + ((start + step) % NETS << 8), 24))
        if not any(net.overlaps(other) for other in used):
            return str(net)
    raise LabError("no free network left in 10.64.0.0/10")


def allow_congestion_control(name):
    """A namespace may use only what the machine allows to all; what was allowed before stays allowed."""
    allowed = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
    available = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if name not in available:
        raise LabError(f"this kernel has no TCP congestion control '{name}', only {' '.join(available)}")
    names = allowed.read_text().split()
    if name not in names:
        allowed.write_text(" ".join([*names, name]))


def mac(lab, host):
    high, low = ipaddress.ip_network(lab.subnet).network_address.packed[1:3]
    return f"02:4c:{high:02x}:{low:02x}:00:{lab.index(host) + 1:02x}"


def make_links(lab):
    """Namespaces and the cables between them; no interface is ever in the machine's own namespace."""
    lines = [f"netns add {name}" for name in lab.namespaces]
    if lab.topology == "veth":
        first, second = (lab.namespace(host) for host in lab.host_names)
        lines.append(f"link add eth0 netns {first} type veth peer name eth0 netns {second}")
    else:
        for i, host in enumerate(lab.host_names):
            lines.append(f"link add eth0 netns {lab.namespace(host)} type veth"
                         f" peer name p{i} netns {lab.switch_namespace}")
    ip_batch(lines)


def offloads(lab):
    """ethtool(8) words for what the lab switches off, or nothing."""
    off = []
    if lab.segment:
        # What a program gives with UDP_SEGMENT is none of the first three.
        off += ["tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off"]
    if lab.checksums:
        off += ["tx", "off"]
    return off


def set_up_host(lab, host):
    namespace = lab.namespace(host)
    # An interface that says nothing by itself unless asked for IPv6: then each frame counted is one that a program sent.
    settings = ["net.ipv6.conf.eth0.accept_dad=0", "net.ipv6.conf.eth0.keep_addr_on_down=1"] if lab.v6 else [
        "net.ipv6.conf.eth0.disable_ipv6=1"]
    run_in(namespace, "sysctl", "-q", "-w", f"net.ipv4.tcp_congestion_control={lab.congestion}", *settings)
    if offloads(lab):
        run_in(namespace, "ethtool", "-K", "eth0", *offloads(lab))
    lines = ["link set lo up",
             f"link set eth0 mtu {lab.mtu} address {mac(lab, host)} up",
             f"address add {lab.address(host)}/24 dev eth0"]
    if lab.v6:
        lines.append(f"address add {lab.address_v6(host)}/64 dev eth0 nodad")
    ip_batch(lines, namespace)


def set_up_switch(lab):
    namespace = lab.switch_namespace
    run_in(namespace, "sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
    lines = ["link set lo up", "link add br0 type bridge forward_delay 0 mcast_snooping 0"]
    ports = [f"p{i}" for i in range(lab.hosts)]
    lines += [f"link set {port} mtu {lab.mtu} master br0 up" for port in ports]
    lines += ["link set br0 up"]
    ip_batch(lines, namespace)
    for port in ports:
        if offloads(lab):
            run_in(namespace, "ethtool", "-K", port, *offloads(lab))
        if lab.rate:
            run("tc", "-n", namespace, "qdisc", "add", "dev", port, "root", "tbf",
                "rate", lab.rate, "limit", lab.port_buffer, "burst", lab.burst)


def write_hosts_file(lab):
    lines = [f"{lab.address(host)} {host} {lab.name}-{host}" for host in lab.host_names]
    lines += ["127.0.0.1 localhost", "::1 localhost"]
    if lab.v6:
        lines += [f"{lab.address_v6(host)} {host}-v6" for host in lab.host_names]
    (lab.directory / "hosts").write_text("\n".join(lines) + "\n")


def up(lab):
    """Makes the lab. The lock is held by the caller; whatever fails or interrupts it, nothing stays behind."""
    if state.find(lab.name):
        raise LabError(f"lab '{lab.name}' is up already; 'lab down -n {lab.name}' removes it")
    state.refuse_foreign(lab)
    allow_congestion_control(lab.congestion)
    lab.subnet = choose_subnet(lab.name)
    lab.save()
    try:
        write_hosts_file(lab)
        make_links(lab)
        if lab.topology == "switch":
            set_up_switch(lab)
        for host in lab.host_names:
            set_up_host(lab, host)
    except BaseException:
        down(lab)
        raise


def down(lab):
    """Removes what exists of a lab, complete or not, and returns when it is gone."""
    end_processes_in(lab.namespaces)
    for name in filter(is_namespace, lab.namespaces):
        # A link removed here is gone now; left to the namespace it would go some time later.
        links = [link["ifname"] for link in json.loads(run("ip", "-n", name, "-j", "link", "show") or "[]")]
        doomed = [f"link del {link}" for link in links if link in ("eth0", "br0")]
        if doomed:
            ip_batch(doomed, name)
    present = [name for name in lab.namespaces if (NAMESPACES / name).exists()]
    if present:
        ip_batch([f"netns del {name}" for name in present])
    state.forget(lab.name)


def set_link(lab, host, up):
    """Pulls or plugs a host's cable. On a switch the port goes down and the host sees no carrier; a cable without a
    switch has no far end to pull, and the host's own interface goes down."""
    state_word = "up" if up else "down"
    if lab.topology == "switch":
        ip_batch([f"link set p{lab.index(host)} {state_word}"], lab.switch_namespace)
    else:
        ip_batch([f"link set eth0 {state_word}"], lab.namespace(f"h{lab.index(host)}"))
