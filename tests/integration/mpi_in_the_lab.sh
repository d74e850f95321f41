#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPI programs over the installed component, between two hosts of a lab. Part of `make installcheck`; needs root.
name=mpi$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
lab_up --hosts 2 --v6
over_component() {
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" \
        --clocked without --build "${top_builddir:?}/tests/integration/lab" $results "$@" || failed=1
}
over_component
over_component --label "connections cut" --transports tcp --cut 0.2 -k '^(truncation|ordering|flood|collectives) on 2$'
exit $failed
