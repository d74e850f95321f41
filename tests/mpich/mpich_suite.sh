#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPICH test suite over the installed component, between two hosts of a lab. Part of `make installcheck`; needs root.
# LINNET_TEST_MPICH: what to run: --quick (the default), nothing for the default folders, or folders; none: not at all.
name=mpich$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
what=${LINNET_TEST_MPICH---quick}
[ "$what" != none ] || { echo "LINNET_TEST_MPICH is none"; exit 77; }
lab_up --hosts 2
logs=${top_builddir:?}/tests/mpich/logs
# shellcheck disable=SC2086  # two words, or none; several folders
"${PYTHON:-python3}" "$top_srcdir/tests/mpich/run_mpich.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --logs "$logs" \
    --table "$logs/table.tsv" $results $what
