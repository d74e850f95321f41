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
exec_programs() {
    "${PYTHON:-python3}" "$top_srcdir/tests/programs/run_programs.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --top "${LINNET_TEST_PREFIX:?}/bin/linnet-top" \
        --build "${top_builddir:?}/tests/programs/jobs" $results "$@"
}
if [ -n "$what" ]; then exec_programs "$what" --clocked without; else exec_programs --pml both; fi
