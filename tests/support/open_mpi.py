# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What every command of Open MPI that a test starts on this host finds in its environment.

import atexit
import functools
import os
import shutil
import tempfile


@functools.cache
def session_folder():
    """Of this process, until it ends. In a common one a launcher that ends may remove what another, just started, is about to use: "mkdir: File exists"."""
    folder = tempfile.mkdtemp(prefix="linnet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_orte_tmpdir_base=session_folder())
