#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# mpi4py with pickled objects of every shape and size: point to point, by probing, collectives, and a pool of workers.
"""usage: mpirun -np N python3 pickles.py [SECONDS]      one round, or as many as begin within SECONDS; rank 0 says "ok pickles" """

import random
import sys
import time

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


class Particle:
    def __init__(self, source, number):
        self.source, self.number = source, number
        self.position = [source + number / 3, number / (source + 7), source * number]

    def __eq__(self, other):
        return self.__dict__ == other.__dict__


def thing(source, to, kind):
    """The object that `source` sends to `to`; both can make it."""
    draw = random.Random(f"{source}/{to}/{kind}")
    return {
        "empty": None,
        "text": "linnet " * draw.randrange(100),
        "nested": {i: [Particle(source, i), (to, {str(i): {draw.random()}})] for i in range(draw.randrange(1, 200))},
        "bytes": draw.randbytes(draw.randrange(2_000_000)),
        "many": [Particle(source, i) for i in range(3000)],
    }[kind]


KINDS = ("empty", "text", "nested", "bytes", "many")


def check(got, wanted, what):
    if got != wanted:
        print(f"rank {rank}: {what} is wrong: {repr(got)[:200]}", file=sys.stderr, flush=True)
        world.Abort(1)


def point_to_point():
    for kind in KINDS:
        sends = [world.isend(thing(rank, to, kind), dest=to, tag=KINDS.index(kind)) for to in range(size) if to != rank]
        for _ in range(size - 1):
            status = MPI.Status()
            got = world.recv(source=MPI.ANY_SOURCE, tag=KINDS.index(kind), status=status)   # a matched probe, then its receive
            check(got, thing(status.Get_source(), rank, kind), f"{kind} from {status.Get_source()}")
        MPI.Request.waitall(sends)
    to, source = (rank + 1) % size, (rank - 1) % size
    check(world.sendrecv(thing(rank, to, "many"), dest=to, source=source), thing(source, rank, "many"), "sendrecv")


def collectives():
    for root in range(size):
        wanted = thing(root, 0, "nested")
        check(world.bcast(wanted if rank == root else None, root), wanted, "bcast")
        check(world.scatter([thing(root, to, "many") for to in range(size)] if rank == root else None, root), thing(root, rank, "many"), "scatter")
    check(world.allgather(thing(rank, 0, "text")), [thing(r, 0, "text") for r in range(size)], "allgather")
    check(world.alltoall([thing(rank, to, "bytes") for to in range(size)]), [thing(source, rank, "bytes") for source in range(size)], "alltoall")
    check(world.allreduce({rank}, op=MPI.SUM if size == 1 else lambda a, b: a | b), set(range(size)), "allreduce of sets")


def pool():
    """Threads of mpi4py's own on rank 0, workers on the others: MPI_THREAD_MULTIPLE, an intercommunicator, probes."""
    with MPICommExecutor(world, root=0) as executor:
        if executor is not None:
            check(sorted(executor.map(abs, range(-200, 0), chunksize=7)), list(range(1, 201)), "pool")


def main():
    until = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    check(MPI.Query_thread(), MPI.THREAD_MULTIPLE, "thread level")
    rounds = 0
    more = True
    while more:
        point_to_point()
        collectives()
        if size > 1:
            pool()
        rounds += 1
        more = world.bcast(time.monotonic() < until)
    world.Barrier()
    if rank == 0:
        print(f"ok pickles, {rounds} rounds", flush=True)


main()
