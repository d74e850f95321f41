# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# How an entry of the MPICH test suite is started: by Open MPI, or by an MPICH that sends through libfabric.
"""A launcher has stacks: those that Linnet is compared with, and linnet, which is the last."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
TESTS = FOLDER.parent
BUILD_MPICH = TESTS.parent / "mpich_netmod" / "build-mpich"
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "lab")]
import run_mpi  # noqa: E402
import open_mpi  # noqa: E402  (beside what that imports)
from linnet_lab import state  # noqa: E402
from suite import Unavailable, cache_folder  # noqa: E402

# One-sided operations over messages, over either stack. Open MPI's own shared memory (osc sm) carries only the windows that no other component can make.
ONE_SIDED = ["rma", "threads/rma", "errors/rma"]
SHARED = re.compile(r"shared|fence_shm|win_info|win_large_shm|win_zero")
# A child needs a free slot.
SPAWN = ["spawn", "threads/spawn", "errors/spawn"]
SLOTS = 32
REFUSED = b"ofi_rxm\0"   # what btl ofi of 4.1 looks for in the name of a provider, to refuse it


def willing_btl():
    """The component path with an Open MPI's btl ofi first that does not refuse the provider that Linnet is compared with: its own file, but for that name."""
    installed = pathlib.Path(run_mpi.component_folder(), "mca_btl_ofi.so")
    if not installed.exists():
        raise Unavailable("this Open MPI has no btl ofi")
    copy = cache_folder() / "willing-btl" / installed.name
    code = installed.read_bytes().replace(REFUSED, b"no_such\0")
    if not copy.exists() or copy.read_bytes() != code:
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(code)
    return f"{copy.parent}:{installed.parent}"


class OpenMpi:
    """Over Linnet's component, or, with a provider alone, over Open MPI's own mtl ofi and that; then also by mtl ofi over another provider. With btl_ofi these two
    have one-sided operations that are one-sided, by osc rdma."""

    def __init__(self, args):
        args.mpirun = run_mpi.find_tool("OMPI_MPIRUN", "mpirun.openmpi", "mpirun")
        self.mpicc = run_mpi.find_tool("OMPI_MPICC", "mpicc.openmpi", "mpicc")
        if not args.mpirun or not self.mpicc:
            raise Unavailable("there is no Open MPI")
        self.args = args
        self.stacks = ("ob1", args.other, "linnet") if args.provider_dir else ("ob1", "linnet")
        self.willing_btl = willing_btl() if args.btl_ofi else ""
        self.differences = "differences-btl" if args.btl_ofi else "differences-ofi" if args.provider_dir else "differences"

    def command(self, entry, program, stack):
        options = [word for pair in entry.environment for word in ("-x", pair)]
        if entry.folder in ONE_SIDED:
            by_btl = self.args.btl_ofi and stack != "ob1"
            options += ["--mca", "btl", "ofi,self"] if by_btl else []
            options += ["--mca", "mca_base_component_path", self.willing_btl] if by_btl and stack != "linnet" else []
            options += ["--mca", "osc", ("rdma" if by_btl else "pt2pt") + (",sm" if SHARED.search(entry.program) else "")]
        lab = self.args.lab if entry.ranks > 1 or entry.folder in SPAWN else ""
        if entry.folder in SPAWN and not lab:
            options += ["--host", f"localhost:{SLOTS}"]
        if entry.ranks > os.cpu_count():
            options += ["--mca", "mpi_yield_when_idle", "1"]
        case = run_mpi.Case(str(program), " ".join(entry.arguments), entry.ranks, options=" ".join(options), slots=SLOTS if entry.folder in SPAWN else 0)
        pml = "ob1" if stack == "ob1" else "ofi" if self.args.provider_dir else "linnet"
        one_host = argparse.Namespace(**{**vars(self.args), "lab": lab, "pml": pml, "provider": stack, "top": None, "build": pathlib.Path("/")})
        return run_mpi.command_of(case, one_host)

    def environment(self, _stack):
        return open_mpi.environment()


class Mpich:
    """Its own shared memory stays out: the provider carries everything."""
    differences = "differences-mpich"

    def __init__(self, args):
        prefix = args.mpich
        if str(prefix) == "auto":
            found = subprocess.run([BUILD_MPICH, "--cached"], capture_output=True, text=True, check=False)
            if found.returncode != 0:
                raise Unavailable(found.stderr.strip())
            prefix = pathlib.Path(found.stdout.strip())
        self.mpicc, self.mpiexec = str(prefix / "bin" / "mpicc"), str(prefix / "bin" / "mpiexec.hydra")
        if not os.access(self.mpiexec, os.X_OK):
            raise Unavailable(f"there is no MPICH in {prefix}")
        self.stacks = (args.other, "linnet")
        self.args = args

    def command(self, entry, program, _stack):
        environment = [word for pair in entry.environment for word in ("-env", *pair.split("=", 1))]
        return [*self.mpiexec_command(entry), *entry.launcher, "-n", str(entry.ranks), *environment, str(program), *entry.arguments]

    def mpiexec_command(self, entry):
        if not self.args.lab or (entry.ranks == 1 and entry.folder not in SPAWN):
            return [self.mpiexec]
        lab = state.load(self.args.lab)
        return [str(run_mpi.LAB), "exec", "-n", self.args.lab, "h0", "--", self.mpiexec, "-launcher", "rsh", "-launcher-exec", str(TESTS / "lab" / "agent"),
                "-hosts", ",".join(lab.address(host) for host in lab.host_names[:self.args.hosts])]

    def environment(self, stack):
        ours = {"FI_PROVIDER": "linnet" if stack == "linnet" else self.args.other, "MPIR_CVAR_NOLOCAL": "1"}
        if stack == "linnet":
            ours |= {"FI_PROVIDER_PATH": str(self.args.provider_dir.resolve())} if self.args.provider_dir else {}
            ours |= {"FI_LINNET_TRANSPORTS": self.args.transports} if self.args.transports else {}
        return dict(os.environ, **ours)
