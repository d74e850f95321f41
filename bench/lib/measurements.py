# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The measurements: which program, how many ranks, which points, and what the main numbers are.

import dataclasses

FLOORS = ("raw_tcp", "raw_udp", "raw_ring")
NETWORK_PEERS = ("btl_tcp", "btl_tcp_epoll", "btl_tcp_thread", "btl_tcp_yield", "ofi_tcp", "ucx_tcp")


@dataclasses.dataclass(frozen=True)
class Measurement:
    name: str
    text: str
    program: str
    args: tuple = ()
    main: tuple = ()            # metrics that a claim means if it names none; empty: all of them
    lab: dict = dataclasses.field(default_factory=lambda: {"hosts": "2"})
    per_host: int = 1
    pin: bool = True            # rank i on core i
    raw: tuple = ()             # programs of bench/micro that can do it without MPI
    peers: tuple = NETWORK_PEERS
    idle: tuple = ()            # one job for each number of idle ranks
    seconds: float = 2.0        # measured time of a turn
    limit: int = 120            # seconds after which a turn has failed

    def jobs(self, idle, hosts, per_host):
        """The mpirun jobs of one turn: (ranks, slots per host, options)."""
        if not self.idle:
            return [(hosts * per_host, per_host, [])]
        counts = idle or self.idle
        return [(n + 2, max(1, -(-(n + 2) // hosts)), ["--map-by", "node"]) for n in counts]


_RATED = {"hosts": "2", "topology": "switch"}

MEASUREMENTS = {m.name: m for m in (
    Measurement("pingpong", "half round trip, the same buffers for every message", "pingpong", raw=(*FLOORS, "raw_fabric")),
    Measurement("pingpong-fresh", "half round trip, a new buffer for every message", "pingpong", ("--fresh",)),
    Measurement("oneway", "one-way bandwidth, buffers reused", "stream", ("--mode", "oneway"), raw=FLOORS),
    Measurement("oneway-fresh", "one-way bandwidth, fresh buffers", "stream", ("--mode", "oneway", "--fresh")),
    Measurement("twoway", "two-way bandwidth, buffers reused", "stream", ("--mode", "twoway")),
    Measurement("twoway-fresh", "two-way bandwidth, fresh buffers", "stream", ("--mode", "twoway", "--fresh")),
    Measurement("rate", "8-byte messages per second, window of 64", "stream", ("--mode", "rate", "--sizes", "8"),
                seconds=1),
    Measurement("cpu", "one-way bandwidth and what it takes of the processors: user, system, softirq, seconds for 10^9 bytes of both ranks", "stream",
                ("--mode", "cpu", "--sizes", "16K,1M"), main=("one-way",), seconds=4),
    Measurement("expected", "all receives posted before the sender starts: bandwidth, CPU of both sides", "burst",
                ("--mode", "expected"), main=("bandwidth",)),
    Measurement("unexpected", "all messages sent before a receive is posted: bandwidth, CPU of both sides", "burst",
                ("--mode", "unexpected"), main=("bandwidth",)),
    Measurement("fig10", "a receiver that computes 1, 10, 100 million increments before it waits", "fig10",
                lab={**_RATED, "rate": "1gbit"}, seconds=3),
    Measurement("fig11", "the wait after 1, 10, 100 million increments, 4 KB to 2 MB, against the same without the event thread", "fig10",
                ("--sizes", "4K,16K,64K,256K,1M,2M"), lab={**_RATED, "rate": "1gbit"}, main=("wait",),
                peers=("btl_tcp", "linnet-tcp-noevent", "linnet-tcp", "linnet"), seconds=3, limit=240),
    Measurement("overlap-1g", "communication hidden behind 4 ms of computing, 256 KB at 1 Gbit/s", "overlap",
                ("--sizes", "256K", "--compute-ms", "4"), lab={**_RATED, "rate": "1gbit"},
                main=tuple(f"hidden, computing on {side}" for side in ("sender", "receiver", "both"))),
    Measurement("overlap-10g", "communication hidden behind 1.5 ms of computing, 1 MB at 10 Gbit/s", "overlap",
                ("--sizes", "1M", "--compute-ms", "1.5"), lab={**_RATED, "rate": "10gbit"},
                main=tuple(f"hidden, computing on {side}" for side in ("sender", "receiver", "both"))),
    Measurement("iallreduce-10g", "an MPI_Iallreduce hidden behind 1.5 ms of computing, with 0, 1, 4 and 16 calls of MPI_Test in it, at 10 Gbit/s", "iallreduce",
                lab={**_RATED, "rate": "10gbit"}, main=tuple(f"hidden, {n} MPI_Test" for n in (0, 1, 4, 16)), seconds=4),
    Measurement("mt_latency", "a sender and 1 to 32 threads that wait for it in turn: half round trip of 8 B", "mt_latency",
                peers=("btl_tcp", "linnet-tcp", "linnet")),
    Measurement("mt_latency-shuffled", "the same, in a new random order each round", "mt_latency", ("--mode", "shuffled"),
                peers=("btl_tcp", "linnet-tcp", "linnet")),
    Measurement("idle", "an active pair among idle connected ranks; cost of an empty poll", "idle", idle=(0, 30, 126),
                main=("half-round-trip, 8 B",), peers=("btl_tcp", "btl_tcp_epoll", "ofi_tcp", "ucx_tcp"), seconds=1.5),
    Measurement("collectives", "ten collective operations at 16 B, 4 KB, 64 KB, 4 MB", "collectives",
                lab={"hosts": "4"}, per_host=2, pin=False, seconds=3,
                limit=400),  # ranks that spin against each other take 100 ms for one operation
    Measurement("incast-4", "4 hosts send to one through a port of 1 Gbit/s with a buffer of 128 KB", "incast", ("--port-mbs", "117"),
                lab={"hosts": "5", "topology": "switch", "rate": "1gbit", "port-buffer": "128k", "burst": "16k"}, pin=False, seconds=3,
                main=("incast",), peers=("btl_tcp", "linnet-udp", "linnet-eth")),
    Measurement("incast-7", "7 hosts send to one, likewise", "incast", ("--port-mbs", "117"),
                lab={"hosts": "8", "topology": "switch", "rate": "1gbit", "port-buffer": "128k", "burst": "16k"}, pin=False, seconds=3,
                main=("incast",), peers=("btl_tcp", "linnet-udp", "linnet-eth")),
    Measurement("lost", "what one lost frame costs a window of 64 frames, and a lone one (lab fault --every 211)", "lost",
                lab={"hosts": "2", "segment": "", "every": "211"}, peers=("btl_tcp", "linnet-udp", "linnet-eth"), seconds=4),
    Measurement("rma-write", "libfabric without MPI: fi_write, until it is there", "", ("--mode", "write"), raw=("raw_fabric",), peers=("fi_tcp", "fi_linnet")),
    Measurement("rma-window", "the same, windows of up to 64 writes (4 MB): bandwidth", "", ("--mode", "write-window"), raw=("raw_fabric",),
                peers=("fi_tcp", "fi_linnet")),
    Measurement("blocked", "CPU share of a rank that is blocked in MPI_Recv", "blocked", seconds=1),
)}
