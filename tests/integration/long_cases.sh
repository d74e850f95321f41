#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPI programs' long cases over the installed component, on this host and between two hosts of a lab: messages of more than 4 GiB, a minute in a
# debugger, all types of four ranks; and connections that are cut in mid-traffic. Part of ./check --full; needs root.
name=long$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
run_mpi() {
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" \
        --build "${top_builddir:?}/tests/integration/long" $results "$@" || failed=1
}
run_mpi --only-full
lab_up --hosts 2
run_mpi --only-full --lab "$name" --label "two hosts"
for transports in tcp auto; do
    run_mpi --lab "$name" --label "connections cut" --transports $transports --cut 0.2 -k '^(modes|threads|buffered) on [24]$'
done
exit $failed
