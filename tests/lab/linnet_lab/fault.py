# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Faults on a host's cable: a BPF program loses, duplicates and corrupts frames, a relay process delays and reorders them.

import hashlib
import json
import os
import pathlib
import platform
import signal
import struct
import subprocess
import tempfile

from .machine import NAMESPACES, LabError, end_processes, ip_batch, processes_in, require_tools, run

HERE = pathlib.Path(__file__).resolve().parent.parent
TAP_QUEUE = 8192  # frames between the kernel and the relay
PROBABILITIES = ("loss", "duplicate", "corrupt")
RELAY_COUNTERS = ("delayed", "reordered", "overflowed")


class Hook:
    """Where the frames of one direction pass: `direction` is as the host sees it.

    On a switch it is the port, at the far end of the host's cable: whatever way the host sends and receives, the
    network is beyond its reach. Without a switch it is the inward side of the interface that receives, so that a
    sender never learns of a loss from its own system calls; what one host sends and what the other receives are then
    one hook."""

    def __init__(self, lab, host, direction):
        index = lab.index(host)
        if lab.topology == "veth" and direction == "out":
            index, direction = 1 - index, "in"
        self.index = index
        self.key = f"h{index} {direction}"
        self.tap = f"d{direction}{index}"
        if lab.topology == "veth":
            self.namespace, self.device, self.inward = lab.namespace(f"h{index}"), "eth0", True
        else:
            # What the host sends comes in at the port.
            self.namespace, self.device, self.inward = lab.switch_namespace, f"p{index}", direction == "out"
        self.side = "ingress" if self.inward else "egress"
        self.statistics = lab.directory / f"relay-{self.tap}"


def interface_index(namespace, device):
    return json.loads(run("ip", "-n", namespace, "-j", "link", "show", "dev", device))[0]["ifindex"]


def own_seed(hook, settings):
    """The seed of one hook: with one seed for all, frames of the same number would fare the same everywhere."""
    return int.from_bytes(hashlib.sha256(f"{settings['seed']} {hook.key}".encode()).digest()[:8], "big")


def compile_program(hook, settings, tap, source, object_file):
    constants = {name.upper(): f"{round(settings[name] * 2**32)}ULL" for name in PROBABILITIES}
    constants |= {"EVERY": f"{settings['every']}ULL", "ONLY": f"{settings['only']}ULL"}
    constants |= {"SEED": f"{own_seed(hook, settings)}ULL", "ETHERTYPE": settings["ethertype"], "TAP": tap,
                  "PORT": interface_index(hook.namespace, hook.device), "INGRESS": int(hook.inward)}
    # The kernel's headers include asm/types.h, which Debian keeps in a folder of the machine's architecture.
    run("clang", "-target", "bpf", "-mcpu=v3", "-O2", "-g", f"-I/usr/include/{platform.machine()}-linux-gnu",
        *(f"-D{name}={value}" for name, value in constants.items()), "-c", str(source), "-o", str(object_file))


def attach(namespace, device, side, object_file, section):
    qdiscs = json.loads(run("tc", "-n", namespace, "-j", "qdisc", "show", "dev", device) or "[]")
    if not any(qdisc["kind"] == "clsact" for qdisc in qdiscs):
        run("tc", "-n", namespace, "qdisc", "add", "dev", device, "clsact")
    run("tc", "-n", namespace, "filter", "replace", "dev", device, side, "pref", "1", "handle", "1",
        "bpf", "direct-action", "object-file", str(object_file), "section", section)


def filters(hook):
    found = json.loads(run("tc", "-n", hook.namespace, "-j", "filter", "show", "dev", hook.device, hook.side) or "[]")
    return [entry["options"] for entry in found if entry.get("kind") == "bpf" and "options" in entry]


def relay_program():
    """The relay, compiled when its source has changed since the last time."""
    source = HERE / "relay.cc"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "linnet-lab"
    program = cache / f"relay-{digest}"
    if not program.exists():
        require_tools("c++")
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / f"relay-{digest}.{os.getpid()}"
        run("c++", "-std=c++20", "-O2", str(source), "-o", str(fresh))
        fresh.replace(program)
    return program


def relay_core(hook):
    """The core that a hook's relay stays on. The kernel has a queue of arrived frames for each core, and a writer that moves lets the frames of its
    new core overtake those that still lie on the old one. The relays of a lab are spread over the cores."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[(hook.index + hook.inward) % len(cores)]


def start_relay(lab, hook, settings):
    """Starts the relay of a hook in the hook's namespace, where 'down' finds it."""
    core = relay_core(hook)
    nanoseconds = [str(round(settings[name] * 1e9)) for name in ("delay", "jitter")]
    argv = ["nsenter", f"--net={NAMESPACES / hook.namespace}", str(relay_program()), hook.tap, *nanoseconds,
            str(settings["reorder"]), str(own_seed(hook, settings)), str(hook.statistics)]
    relay = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd="/", start_new_session=True, text=True, close_fds=False,
                             preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if relay.stdout.readline() != "ready\n":
        relay.wait()
        raise LabError(relay.stderr.read().strip() or "the relay does not start")
    relay.stdout.close()
    relay.stderr.close()
    relay.returncode = 0  # it outlives this process; nothing waits for it
    ip_batch([f"link set {hook.tap} mtu {lab.mtu} txqueuelen {TAP_QUEUE} addrgenmode none up"], hook.namespace)


def stop_relay(hook):
    """Ends the relay of a hook; its tap goes with it."""
    for pid in processes_in([hook.namespace]):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except FileNotFoundError:  # it has ended
            continue
        if pathlib.Path(words[0]).name.startswith("relay-") and words[1] == hook.tap:
            end_processes([pid], signal.SIGKILL, 2)


def clear(lab, hook):
    """Takes the faults of a hook away; frames the relay still held are lost."""
    if filters(hook):
        run("tc", "-n", hook.namespace, "filter", "delete", "dev", hook.device, hook.side, "pref", "1")
    stop_relay(hook)
    hook.statistics.unlink(missing_ok=True)
    if lab.faults.pop(hook.key, None) is not None:
        lab.save()


def inject(lab, hook, settings):
    """Puts faults on a hook in place of those that were there, and starts its counts at zero."""
    require_tools("clang", "tc")
    clear(lab, hook)
    lab.faults[hook.key] = settings
    lab.save()
    try:
        with tempfile.TemporaryDirectory(prefix="linnet-lab-") as scratch:
            object_file = pathlib.Path(scratch) / "fault.o"
            tap = 0
            if settings["delay"]:
                start_relay(lab, hook, settings)
                tap = interface_index(hook.namespace, hook.tap)
            compile_program(hook, settings, tap, HERE / "fault.bpf.c", object_file)
            if tap:
                attach(hook.namespace, hook.tap, "ingress", object_file, "tc/resume")
            attach(hook.namespace, hook.device, hook.side, object_file, "tc/fault")
    except BaseException:
        clear(lab, hook)
        raise


def counters(hook):
    """What the program and the relay of a hook have counted; None where no program is attached."""
    attached = filters(hook)
    if not attached:
        return None
    program = json.loads(run("bpftool", "-j", "prog", "show", "id", str(attached[0]["prog"]["id"])))
    # Maps are found by their name: a compiler may add one of its own for constants.
    for map_id in program["map_ids"]:
        if json.loads(run("bpftool", "-j", "map", "show", "id", str(map_id)))["name"] == "totals":
            dump = json.loads(run("bpftool", "-j", "map", "dump", "id", str(map_id)))
            counted = dict(dump[0]["formatted"]["value"])
            break
    else:
        raise LabError(f"the program on {hook.device} is not the lab's")
    if hook.statistics.exists():
        counted |= zip(RELAY_COUNTERS, struct.unpack("=3Q", hook.statistics.read_bytes()))
    return counted
