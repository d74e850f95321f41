# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The command line of the lab.

import argparse
import json
import math
import os
import re
import signal
import sys

from . import fault, mpi, network, state, stats
from .machine import EXIT_FAILURE, EXIT_USAGE, LabError, processes_in, require_privilege, require_tools

DEFAULT_NAME = os.environ.get("LINNET_LAB", "lab")

EPILOG = """exit status: 0 done, 1 failed, 2 wrong use, 77 not possible here (no privilege, a program or a kernel
feature missing); 'exec' and 'mpirun' end with the status of what they run"""


def command_up(args):
    lab = state.Lab(name=args.name, hosts=args.hosts, topology=args.topology, subnet="", mtu=args.mtu, v6=args.v6,
                    segment=args.segment, checksums=args.checksums, congestion=args.congestion)
    state.check_name(args.name)
    if not 1 <= args.hosts <= state.HOSTS_MAX:
        raise LabError(f"--hosts is 1 to {state.HOSTS_MAX}", EXIT_USAGE)
    if args.topology == "veth" and args.hosts != 2:
        raise LabError("--topology veth is one cable between two hosts; use switch for another number", EXIT_USAGE)
    if args.topology == "veth" and args.rate:
        raise LabError("--rate is that of a switch's ports: it needs --topology switch", EXIT_USAGE)
    if args.rate:
        lab.rate, lab.port_buffer, lab.burst = args.rate, args.port_buffer, args.burst
    require_tools("ip", "tc", "nsenter", "sysctl", *(["ethtool"] if network.offloads(lab) else []))
    with state.locked():
        network.up(lab)


def command_down(args):
    with state.locked():
        if not args.all:
            state.check_name(args.name)
        for name in state.recorded_names() if args.all else [args.name]:
            if lab := state.find(name):
                network.down(lab)
            state.forget(name)


def command_list(args):
    labs = state.all_labs()
    rows = [{"name": lab.name, "topology": lab.topology, "subnet": lab.subnet, "mtu": lab.mtu, "rate": lab.rate,
             "hosts": {host: lab.address(host) for host in lab.host_names},
             "processes": len(processes_in(lab.namespaces))} for lab in labs]
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        hosts = list(row["hosts"].values())
        print(f"{row['name']}: {len(hosts)} hosts ({hosts[0]} to {hosts[-1]}), {row['topology']}, MTU {row['mtu']}"
              f"{', ' + row['rate'] if row['rate'] else ''}, {row['processes']} processes")


def command_exec(args):
    if not args.command:
        raise LabError("nothing to run: lab exec -n NAME HOST -- COMMAND", EXIT_USAGE)
    mpi.enter(state.load(args.name), args.host, args.command)


def command_mpirun(args):
    if not args.program:
        raise LabError("nothing to run: lab mpirun -n NAME [mpirun options] -- PROGRAM", EXIT_USAGE)
    if args.ppn < 1:
        raise LabError("--ppn is at least 1", EXIT_USAGE)
    mpi.mpirun(state.load(args.name), args.ppn, args.pin, args.options, args.program)


def command_fault(args):
    settings = {name: getattr(args, name) for name in
                ("loss", "duplicate", "corrupt", "every", "only", "delay", "jitter", "reorder", "ethertype", "seed")}
    wanted = any(settings[name] for name in ("loss", "duplicate", "corrupt", "every", "only", "delay"))
    if args.clear == wanted:
        raise LabError("say which faults, or --clear alone", EXIT_USAGE)
    if (args.jitter or args.reorder) and not args.delay:
        raise LabError("--jitter and --reorder change what --delay does: they need it", EXIT_USAGE)
    if args.jitter > args.delay:
        raise LabError("--jitter is at most --delay: no frame arrives before it was sent", EXIT_USAGE)
    directions = ("in", "out") if args.direction == "both" or (args.clear and not args.direction) else (
        args.direction or "in",)
    with state.locked():
        lab = state.load(args.name)
        hosts = [args.host] if args.host else lab.host_names
        if not args.host and not args.clear:
            raise LabError("name the host whose cable is to fail", EXIT_USAGE)
        if args.corrupt and not lab.checksums and not args.ethertype:
            print("lab: note: this lab was made without --checksums, so that TCP and UDP do not notice corruption",
                  file=sys.stderr)
        for host in hosts:
            for direction in directions:
                hook = fault.Hook(lab, host, direction)
                if args.clear:
                    fault.clear(lab, hook)
                else:
                    fault.inject(lab, hook, settings)


def command_link(args):
    network.set_link(state.load(args.name), args.host, args.state == "up")


def command_stats(args):
    lab = state.load(args.name)
    if args.json:
        print(json.dumps(stats.collect(lab), indent=1))
    else:
        stats.show(lab)


def probability(text):
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(text)
    return value


def duration(text):
    """Seconds, from 1ms or 200us or 0.5s."""
    match = re.fullmatch(r"([0-9.]+)(s|ms|us)", text)
    if not match:
        raise ValueError(text)
    value = float(match[1]) * {"s": 1, "ms": 1e-3, "us": 1e-6}[match[2]]
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def ethertype(text):
    value = int(text, 0)
    if not 0x600 <= value <= 0xffff:
        raise ValueError(text)
    return value


def seed(text):
    value = int(text, 0)
    if not 0 <= value < 1 << 64:
        raise ValueError(text)
    return value


def count(text):
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def split_at_dashes(argv):
    """What stands before the first lone -- and what after it."""
    if "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1:]


def split_own_options(argv):
    """The leading options that are the lab's own, and the rest, which is mpirun's (it has a -n of its own)."""
    at = 0
    while at < len(argv) and argv[at] in ("-n", "--name", "--ppn", "--pin", "-h", "--help"):
        at += 1 if argv[at] in ("--pin", "-h", "--help") else 2
    return argv[:at], argv[at:]


def build_parser():
    parser = argparse.ArgumentParser(prog="lab", epilog=EPILOG, allow_abbrev=False,
                                     description="Makes and removes network hosts on one machine.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name, function, **kwargs):
        sub = commands.add_parser(name, description=kwargs["help"], allow_abbrev=False, **kwargs)
        sub.set_defaults(function=function)
        sub.add_argument("-n", "--name", default=DEFAULT_NAME,
                         help="name of the lab (default: $LINNET_LAB, else 'lab')")
        return sub

    up = add("up", command_up, help="make a lab")
    up.add_argument("--hosts", type=int, default=2, metavar="N", help="number of hosts, h0 to h(N-1) (default: 2)")
    up.add_argument("--topology", choices=("veth", "switch"), default="switch",
                    help="a cable between two hosts, or a switch with a cable to each (default: switch)")
    up.add_argument("--mtu", type=int, default=1500, metavar="BYTES", help="default: 1500")
    up.add_argument("--rate", default="", help="rate of the switch's output ports, such as 1gbit (default: no limit)")
    up.add_argument("--port-buffer", default="512k", metavar="BYTES", help="what a port queues (default: 512k)")
    up.add_argument("--burst", default="128k", metavar="BYTES",
                    help="what a port sends at once; less than a 64k packet splits it into frames (default: 128k)")
    up.add_argument("--v6", action="store_true", help="IPv6 addresses too")
    up.add_argument("--segment", action="store_true", help="TSO, GSO, GRO and UDP segmentation off: each frame on the wire is one frame")
    up.add_argument("--checksums", action="store_true",
                    help="transmit checksum offload off: checksums are computed and verified")
    up.add_argument("--congestion", default="cubic", metavar="NAME", help="TCP congestion control (default: cubic)")

    down = add("down", command_down, help="remove a lab and end the processes on its hosts; nothing to do is success")
    down.add_argument("--all", action="store_true", help="remove every lab")

    listing = add("list", command_list, help="show the labs")
    listing.add_argument("--json", action="store_true", help="as JSON")

    execute = add("exec", command_exec, help="run a command on a host: lab exec -n NAME HOST -- COMMAND...")
    execute.add_argument("host", metavar="HOST")
    execute.set_defaults(takes_command="command")

    mpirun = add("mpirun", command_mpirun,
                 help="run Open MPI's mpirun across the hosts: lab mpirun [-n NAME] [--ppn K] [--pin] "
                      "[mpirun options] -- PROGRAM...; the lab's options come first")
    mpirun.add_argument("--ppn", type=int, default=1, metavar="K", help="slots on each host (default: 1)")
    mpirun.add_argument("--pin", action="store_true", help="rank i on core i modulo the number of cores")
    faults = add("fault", command_fault, help="lose, duplicate, corrupt, delay or reorder the frames of a host; "
                 "what an earlier 'fault' set for the same direction is replaced")
    faults.add_argument("host", metavar="HOST", nargs="?", help="only --clear does without: it then means every host")
    faults.add_argument("--direction", choices=("in", "out", "both"),
                        help="what the host receives, or sends (default: in; with --clear: both)")
    for name in ("loss", "duplicate", "corrupt"):
        faults.add_argument(f"--{name}", type=probability, default=0.0, metavar="P", help="probability for each frame")
    faults.add_argument("--every", type=count, default=0, metavar="N", help="lose the N-th frame, the 2N-th, and so on")
    faults.add_argument("--only", type=count, default=0, metavar="N", help="lose the N-th frame and no other")
    faults.add_argument("--delay", type=duration, default=0.0, metavar="TIME", help="such as 1ms, 200us, 0.5s")
    faults.add_argument("--jitter", type=duration, default=0.0, metavar="TIME",
                        help="the delay varies by as much to either side; the order stays")
    faults.add_argument("--reorder", type=probability, default=0.0, metavar="P",
                        help="probability that a frame is not delayed, and so overtakes others")
    faults.add_argument("--ethertype", type=ethertype, default=0, metavar="X",
                        help="only frames of this type, such as 0x0800 (default: all)")
    faults.add_argument("--seed", type=seed, default=1, metavar="N", help="of the draws (default: 1)")
    faults.add_argument("--clear", action="store_true", help="take the faults away")

    link = add("link", command_link, help="pull or plug the cable of a host")
    link.add_argument("host", metavar="HOST")
    link.add_argument("state", choices=("down", "up"))

    counts = add("stats", command_stats, help="show what the links carried, and the faults")
    counts.add_argument("--json", action="store_true", help="as JSON")
    return parser


def parse(argv):
    own, command = split_at_dashes(argv)
    options = []
    if own[:1] == ["mpirun"]:
        mine, options = split_own_options(own[1:])
        own = ["mpirun", *mine]
    args = build_parser().parse_args(own)
    args.command = args.program = command
    args.options = options
    return args


def main(argv):
    try:
        args = parse(argv)
        if args.function is not command_list:
            require_privilege()
        # A terminated "up" undoes what it made, as an interrupted one does.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_FAILURE))
        args.function(args)
        sys.stdout.flush()
        return 0
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
