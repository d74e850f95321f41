# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The stacks that are compared: what selects each, and which way its bytes must take.

import dataclasses
import pathlib

HOSTS = "hosts"  # between hosts: the bytes cross the interfaces
HOST = "host"    # within one host: the interface must stay quiet


class StackError(RuntimeError):
    """The stack cannot be run here; the text says what is missing."""


@dataclasses.dataclass(frozen=True)
class Stack:
    name: str
    text: str
    mca: dict = dataclasses.field(default_factory=dict)
    env: dict = dataclasses.field(default_factory=dict)
    places: tuple = (HOSTS, HOST)
    memory_only: bool = False   # within a host not even the loopback interface may carry the payload
    linnet: str = ""            # transport whose counter must account for the payload; "any": all together
    raw: str = ""               # not MPI at all: this program of bench/micro, a floor or libfabric alone
    args: tuple = ()            # for that program, or for the measurement's
    only: tuple = ()            # the measurements in which it can take part; empty: all
    provider: bool = False      # Linnet below libfabric, which has no counters of Linnet's

    def mpirun_options(self):
        options = []
        for name, value in self.mca.items():
            options += ["--mca", name, value]
        for name, value in self.env.items():
            options += ["-x", f"{name}={value}"]
        return options


def _ob1(btl, **more):
    return {"pml": "ob1", "btl": btl, **more}


def _ofi(provider, **env):
    """mtl ofi with this provider alone: without it, no MTL is left and the job fails."""
    return {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": provider}, {"FI_PROVIDER": provider.partition(";")[0], **env}


def _fabric(which, text, env=None, **more):
    name = which.partition(";")[0]
    return Stack(f"fi_{name}", f"{text}, without MPI", {}, {"FI_PROVIDER": name, **(env or {})}, raw="raw_fabric", args=("--provider", which), **more)


def _linnet(transport, text, variant="", settings=None, **more):
    mca = {"pml": "cm", "mtl": "linnet"}
    if transport:
        mca["mtl_linnet_transports"] = transport
    mca |= {f"mtl_linnet_{name}": value for name, value in (settings or {}).items()}
    name = "-".join(part for part in ("linnet", transport, variant) if part)
    return Stack(name, text, mca, linnet=transport or "any", **more)


# Debian's openmpi-mca-params.conf switches mtl ofi and pml ucx off; naming them here switches them on again.
STACKS = {s.name: s for s in (
    Stack("btl_tcp", "Open MPI's TCP BTL as it comes", _ob1("tcp,self")),
    Stack("btl_tcp_epoll", "TCP BTL, epoll instead of poll", _ob1("tcp,self", opal_event_include="epoll")),
    Stack("btl_tcp_thread", "TCP BTL with its progress thread", _ob1("tcp,self", btl_tcp_progress_thread="1")),
    Stack("btl_tcp_yield", "TCP BTL, ranks yield when idle", _ob1("tcp,self", mpi_yield_when_idle="1")),
    Stack("ompi", "Open MPI's own choice on Ethernet: TCP BTL and shared memory", _ob1("tcp,vader,self")),
    Stack("ompi_yield", "the same, ranks yield when idle", _ob1("tcp,vader,self", mpi_yield_when_idle="1")),
    Stack("ofi_tcp", "libfabric, tcp provider", *_ofi("tcp;ofi_rxm", FI_TCP_IFACE="eth0"), places=(HOSTS,)),
    Stack("ofi_shm", "libfabric, shm provider", *_ofi("shm"), places=(HOST,), memory_only=True),
    Stack("ucx_tcp", "UCX over TCP", {"pml": "ucx", "pml_ucx_tls": "any", "pml_ucx_devices": "any"},
          {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}, places=(HOSTS,)),
    Stack("vader", "Open MPI's shared memory", _ob1("vader,self"), places=(HOST,), memory_only=True),
    Stack("vader_yield", "the same, ranks yield when idle", _ob1("vader,self", mpi_yield_when_idle="1"), places=(HOST,), memory_only=True),
    Stack("bare", "collectives by bare UDP sockets and shared memory, ranks yield: the floor", _ob1("tcp,vader,self", mpi_yield_when_idle="1"),
          args=("--mode", "bare"), only=("collectives",)),
    Stack("raw_tcp", "a TCP socket and nothing else, both ends spinning: the floor", raw="raw_tcp"),
    Stack("raw_udp", "a UDP socket and nothing else, both ends spinning: the floor", raw="raw_udp"),
    Stack("raw_ring", "a raw Ethernet receive ring and nothing else, both ends spinning: the floor", places=(HOSTS,), raw="raw_ring"),
    Stack("raw_tcp_zc", "raw_tcp with MSG_ZEROCOPY from 10 KiB on", raw="raw_tcp", args=("--zero-copy",)),
    Stack("raw_udp_zc", "raw_udp with MSG_ZEROCOPY from 10 KiB on", raw="raw_udp", args=("--zero-copy",)),
    Stack("raw_ring_tx", "raw_ring with a transmit ring", places=(HOSTS,), raw="raw_ring", args=("--zero-copy",)),
    _fabric("linnet", "Linnet below libfabric", provider=True),
    _fabric("tcp;ofi_rxm", "libfabric's tcp provider", {"FI_TCP_IFACE": "eth0"}, places=(HOSTS,)),
    _fabric("shm", "libfabric's shm provider", places=(HOST,), memory_only=True),
    _linnet("", "Linnet, its own choice of transport"),
    _linnet("tcp", "Linnet over TCP"),
    _linnet("tcp", "Linnet over TCP without its event thread: what that costs, and gives", "noevent", {"event_thread": "0"}),
    _linnet("tcp", "Linnet over TCP, threads that wait never sleep", "spin", {"progress_policy": "spin"}),
    _linnet("udp", "Linnet over UDP"),
    _linnet("eth", "Linnet over raw Ethernet frames", places=(HOSTS,)),
    Stack("linnet-mixed", "Linnet over raw Ethernet, long messages where they go fastest, there or over TCP",
          {"pml": "cm", "mtl": "linnet", "mtl_linnet_transports": "eth,tcp"}, linnet="any", places=(HOSTS,)),
    _linnet("shm", "Linnet over shared memory", places=(HOST,), memory_only=True),
    Stack("linnet-ofi", "Linnet below libfabric, its own choice of transport", *_ofi("linnet"), provider=True),
)}

COMPONENT = "mca_mtl_linnet.so"
PROVIDER = "liblinnet-fi.so"
FOLDERS = {COMPONENT: ("lib/openmpi", "ompi_mtl/.libs"), PROVIDER: ("lib/libfabric", "ofi_provider/.libs")}   # in a prefix, in a build tree


def find_part(name, prefix, build):
    """The folder of Linnet's Open MPI component or libfabric provider: below an installation prefix, or in a build tree."""
    installed, built = FOLDERS[name]
    folder = pathlib.Path(prefix) / installed if prefix else pathlib.Path(build) / built if build else None
    if folder and (folder / name).exists():
        return folder.resolve()
    where = folder / name if folder else "nowhere: give --linnet-prefix or --build"
    raise StackError(f"Linnet's {name} is not there (looked for {where})")


def with_component(stack, folder, libraries):
    """The same stack, finding the component in `folder` and its libraries in `libraries`, on every host."""
    path = f"{folder}:SYSTEM_DEFAULT:USER_DEFAULT"
    mca = {"mca_base_component_path": path, "mca_base_component_show_load_errors": "1", **stack.mca}
    return dataclasses.replace(stack, mca=mca, env={"LD_LIBRARY_PATH": libraries, **stack.env})


def with_provider(stack, folder, libraries):
    """The same stack, finding the libfabric provider in `folder` and its libraries in `libraries`, on every host."""
    return dataclasses.replace(stack, env={"FI_PROVIDER_PATH": str(folder), "LD_LIBRARY_PATH": libraries, **stack.env})


def select(names, place):
    """The named stacks, checked for the place in which they will run."""
    chosen = []
    for name in names:
        if name not in STACKS:
            raise StackError(f"unknown stack {name!r}; there are: {', '.join(STACKS)}")
        if place not in STACKS[name].places:
            raise StackError(f"{name} does not run {'between hosts' if place == HOSTS else 'within one host'}")
        chosen.append(STACKS[name])
    if len({s.name for s in chosen}) != len(chosen):
        raise StackError("a stack is named twice")
    return chosen
