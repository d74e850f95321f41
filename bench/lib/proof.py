# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Proof of path: whether the counters show that a turn's payload went where the stack's name says.

import collections
import re

from . import stacks

# The launcher's own traffic: starting daemons, exchanging addresses, forwarding output. Measured below 0.2 MB for two
# ranks. Too small: honest turns fail; too big: a small payload could hide in it.
LAUNCH_BYTES = 512 * 1024
LAUNCH_BYTES_PER_RANK = 48 * 1024
LEAST_PAYLOAD = 256 * 1024  # less proves nothing against the launcher's traffic
MOST_OVERHEAD = 1.5         # headers, acknowledgements, retransmissions of large messages
BYTES_PER_MESSAGE = 512     # headers of a small message, its acknowledgement, and a credit or two
ACKNOWLEDGEMENTS = 0.003    # of what the other direction carries: two frames for a segment of 64 KB, and somewhat more
BYTES_PER_FRAME = 128       # of a frame that Linnet made itself, instead of TCP, and that carries no payload
PAYLOAD_PER_FRAME = 1400    # in the others, with the common MTU; with a longer one fewer of them are held for empty
STRAY_SHARE = 0.05          # payload that may be seen where none should be

_COUNTER = re.compile(r"mtl_linnet_(tcp|udp|eth|shm)_(tx|rx)_bytes$")  # not loopback: what a rank sends itself is no payload


class _Payload:
    """What a turn's program says it sent, by host."""

    def __init__(self, report, host_of):
        ranks = report["ranks"]
        self.ranks = len(ranks)
        place = {r["rank"]: host_of(r["host"]) for r in ranks}
        self.crowded = max(collections.Counter(place.values()).values()) > 1
        self.tx = collections.Counter()        # bytes to other hosts
        self.rx = collections.Counter()
        self.local = collections.Counter()     # bytes to other ranks of the same host
        self.messages = collections.Counter()  # that touch the host
        self.frames = {"sent": collections.Counter(), "received": collections.Counter()}   # by Linnet's counters
        self.exact = True                      # false where the library chooses the algorithm
        for rank in ranks:
            here = place[rank["rank"]]
            if rank["must_tx"] or rank["must_rx"]:
                self.exact = False
                self.tx[here] += rank["must_tx"]
                self.rx[here] += rank["must_rx"]
            for what, counter in (("sent", "flow_frames_out"), ("received", "flow_frames_in")):
                self.frames[what][here] += rank["pvars"].get(f"mtl_linnet_{counter}", 0)
            for peer, sent, messages in rank["sent"]:
                there = place[peer]
                self.messages[here] += messages
                if there == here:
                    self.local[here] += sent
                else:
                    self.messages[there] += messages
                    self.tx[here] += sent
                    self.rx[there] += sent
        # Where only the least of both directions is known, the larger one is what must have been carried.
        self.crossing = max(sum(self.tx.values()), sum(self.rx.values()))
        self.total = self.crossing + sum(self.local.values())


def _grown(before, after, host, interface):
    """(received, sent) bytes of an interface during the turn."""
    first, last = before[host].get(interface, (0, 0)), after[host].get(interface, (0, 0))
    return last[0] - first[0], last[1] - first[1]


def _between_hosts(payload, before, after, slack):
    problems = []
    if payload.crossing < LEAST_PAYLOAD:
        problems.append(f"only {payload.crossing:.0f} B of payload between hosts: too little to prove anything")
    for host in before:
        received, sent = _grown(before, after, host, "eth0")
        tx, rx = payload.tx[host], payload.rx[host]
        for what, seen, said, against in (("sent", sent, tx, rx), ("received", received, rx, tx)):
            empty = max(0, payload.frames[what][host] - said / PAYLOAD_PER_FRAME)
            most = MOST_OVERHEAD * said + ACKNOWLEDGEMENTS * against + BYTES_PER_MESSAGE * payload.messages[host] + BYTES_PER_FRAME * empty + slack
            if seen < said:
                problems.append(f"{host}: eth0 {what} {seen:.0f} B, but the program {what} {said:.0f} B of payload")
            elif payload.exact and seen > most:
                problems.append(f"{host}: eth0 {what} {seen:.0f} B for {said:.0f} B of payload")
        stray = _grown(before, after, host, "lo")[1]
        if not payload.crowded and stray > STRAY_SHARE * payload.tx[host] + slack:
            problems.append(f"{host}: the loopback interface carried {stray:.0f} B")
    return problems


def _within_host(stack, payload, before, after, slack):
    problems = []
    if payload.crossing > 0:
        problems.append("ranks ran on several hosts, one was asked for")
    if payload.total < LEAST_PAYLOAD:
        problems.append(f"only {payload.total:.0f} B of payload: too little to prove anything")
    for host in before:
        most = STRAY_SHARE * payload.local[host] + slack
        sent = _grown(before, after, host, "eth0")[1]
        if sent > most:
            problems.append(f"{host}: eth0 sent {sent:.0f} B in a job within one host")
        looped = _grown(before, after, host, "lo")[1]
        if stack.memory_only and looped > most:
            problems.append(f"{host}: the loopback interface carried {looped:.0f} B of a shared-memory stack")
    return problems


def linnet_bytes(report):
    """Linnet's counters over all ranks: {transport: (sent, received)}."""
    totals = collections.defaultdict(lambda: [0, 0])
    for rank in report["ranks"]:
        for name, value in rank["pvars"].items():
            match = _COUNTER.fullmatch(name)
            if match:
                totals[match[1]][match[2] == "rx"] += value
    return {transport: tuple(both) for transport, both in totals.items()}


def _linnet(stack, payload, report):
    carried = linnet_bytes(report)
    if not stack.linnet:
        moved = sum(map(sum, carried.values()))
        return [f"Linnet carried {moved:.0f} B under another stack's name"] if moved > 0 else []
    if not carried:
        return ["no mtl_linnet_*_bytes variables: Linnet did not run"]
    named = carried.values() if stack.linnet == "any" else [carried.get(stack.linnet, (0, 0))]
    # A receiver that pulls counts what it received, a sender that pushes what it sent.
    seen = max(sum(tx for tx, _ in named), sum(rx for _, rx in named))
    if seen < payload.total:
        return [f"Linnet's {stack.linnet} counters show {seen:.0f} B, the program sent {payload.total:.0f} B of payload"]
    return []


def check(stack, place, report, before, after, host_of):
    """Problems with one turn, as sentences; none means that the named path carried the payload.

    report: the program's result line; before, after: {host: {interface: (received, sent)}};
    host_of: the lab's host for a name that a program reported.
    """
    payload = _Payload(report, host_of)
    slack = LAUNCH_BYTES + LAUNCH_BYTES_PER_RANK * payload.ranks
    if place == stacks.HOSTS:
        problems = _between_hosts(payload, before, after, slack)
    else:
        problems = _within_host(stack, payload, before, after, slack)
    return problems + _linnet(stack, payload, report)


def counters(report):
    """Linnet's counters over all ranks, for each thousand messages that the programs sent: {name: value}.

    Nothing for collectives: the messages are the library's, and nobody counts them.
    """
    if any(rank["must_tx"] or rank["must_rx"] for rank in report["ranks"]):
        return {}
    messages = sum(count for rank in report["ranks"] for _, _, count in rank["sent"])
    totals = collections.Counter()
    for rank in report["ranks"]:
        totals.update({name.removeprefix("mtl_linnet_"): value for name, value in rank["pvars"].items()})
    return {name: 1000 * value / messages for name, value in totals.items()} if messages else {}


def facts(report, before, after, host_of):
    """The same numbers for the reader: payload and what each counter saw, all hosts together."""
    payload = _Payload(report, host_of)
    seen = {i: sum(_grown(before, after, host, i)[1] for host in before) for i in ("eth0", "lo")}
    linnet = {t: max(both) for t, both in linnet_bytes(report).items() if max(both) > 0}
    return {"payload": payload.total, "crossing": payload.crossing, **seen, "linnet": linnet}
