# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Starting programs on the hosts of a lab: one, or an MPI job across them all.

import os
import pathlib
import signal

from .machine import EXIT_USAGE, LabError, require_tools

HERE = pathlib.Path(__file__).resolve().parent.parent


def enter(lab, host, command):
    """Becomes the command, on that host."""
    host = f"h{lab.index(host)}"
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # python ignores them, and an ignored signal stays so
        signal.signal(ignored, signal.SIG_DFL)
    argv = [str(HERE / "enter"), str(lab.directory), host, *command]
    os.execv(argv[0], argv)


def defaults(lab):
    """Open MPI parameters as environment variables: those of the caller and the command line come first."""
    scratch = lab.directory / "tmp"
    scratch.mkdir(exist_ok=True)
    parameters = {
        "plm_rsh_agent": HERE / "agent",
        "hwloc_base_binding_policy": "none",
        "oob_tcp_if_include": lab.subnet,
        "btl_tcp_if_include": "eth0",
        "orte_tmpdir_base": scratch,  # so that what a killed job leaves goes with the lab
    }
    variables = {f"OMPI_MCA_{name}": str(value) for name, value in parameters.items()}
    variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables


def mpirun(lab, per_host, pin, options, program):
    """Becomes mpirun on the first host, with every host in its list."""
    require_tools("mpirun")
    if any(c.isspace() for c in str(HERE)):
        raise LabError(f"mpirun cannot start an agent whose path has a blank in it: {HERE}", EXIT_USAGE)
    for name, value in defaults(lab).items():
        os.environ.setdefault(name, value)
    hosts = ",".join(f"{lab.address(host)}:{per_host}" for host in lab.host_names)
    count = [] if {"-n", "--n", "-np", "--np", "-c"} & set(options) else ["-np", str(lab.hosts * per_host)]
    pinned = [str(HERE / "pin")] if pin else []
    enter(lab, "h0", ["mpirun", "--host", hosts, *count, *options, *pinned, *program])
