#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Real programs over the installed component, on this host and on four hosts of a lab. Part of `make installcheck`; needs root.
# LINNET_TEST_PROGRAMS: what to run: --quick (the default), nothing for all, over both stacks; none: not at all.
name=prog$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
what=${LINNET_TEST_PROGRAMS---quick}
[ "$what" != none ] || { echo "LINNET_TEST_PROGRAMS is none"; exit 77; }
lab_up --hosts 4
# shellcheck disable=SC2086  # two words, or none
run() {
    "${PYTHON:-python3}" "$top_srcdir/tests/programs/run_programs.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --top "${LINNET_TEST_PREFIX:?}/bin/linnet-top" \
        --build "${top_builddir:?}/tests/programs/jobs" $results "$@"
    status=$?
    [ $status = 0 ] || [ $status = 77 ] || failed=1
}
if [ -n "$what" ]; then set -- "$what" --clocked without; else set -- --pml both; fi
run "$@"
[ $status != 77 ] || exit 77
# hpcc also by Open MPI's own mtl ofi.
if has_mtl_ofi; then
    run "$@" --pml ofi --provider-dir "$LINNET_TEST_OFI_DIR" -k '^hpcc on'
else
    echo "not over the libfabric provider: it is not in this build, or this Open MPI has no mtl ofi"
fi
exit $failed
