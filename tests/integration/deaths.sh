#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# How soon a job is over when one of its processes died or gave up: MPI programs over every transport and over the libfabric provider, and real programs.
# A part of `make installcheck` that begins when all others are over: beside two jobs of 64 ranks the launcher alone takes twenty seconds. Needs root.
name=deaths$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
# clocked SCRIPT OPTION...
clocked() {
    script=$top_srcdir/tests/$1
    shift
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$script" --clocked only --build "${top_builddir:?}/tests/integration/ended-jobs" $results "$@" || failed=1
}
component="--plugin-dir $LINNET_TEST_PLUGIN_DIR"
# shellcheck disable=SC2086  # two words
here() { clocked integration/run_mpi.py $component "$@"; }

here
lab_up --hosts 2 --v6
here --lab "$name" --label "two hosts"
here --lab "$name" --label "two hosts" --transports udp -k 'kill recv'
here --lab "$name" --label "two hosts" --transports shm,eth -k 'kill recv'   # frames do not lead back to the host that they came from
if has_mtl_ofi; then
    clocked integration/run_mpi.py --pml ofi --provider-dir "$LINNET_TEST_OFI_DIR" --top "${LINNET_TEST_PREFIX:?}/bin/linnet-top" -k 'kill recv'
else
    echo "not over the libfabric provider: it is not in this build, or this Open MPI has no mtl ofi"
fi
lab_up --hosts 4
# shellcheck disable=SC2086  # two words
clocked programs/run_programs.py $component --lab "$name" --top "${LINNET_TEST_PREFIX:?}/bin/linnet-top" --quick
exit $failed
