#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPICH test suite over the installed component, between two hosts of a lab. Part of `make installcheck`; needs root.
# LINNET_TEST_MPICH: what to run: --quick (the default), nothing for the default folders, or folders; none: not at all.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
what=${LINNET_TEST_MPICH---quick}
[ "$what" != none ] || { echo "LINNET_TEST_MPICH is none"; exit 77; }
lab=${top_srcdir:?}/tests/lab/lab
name=mpich$$
trap '"$lab" down -n "$name"' EXIT
trap 'exit 1' INT TERM
"$lab" up -n "$name" --hosts 2 || exit $?
logs=${top_builddir:?}/tests/mpich/logs
results=${LINNET_TEST_RESULTS:+--results $LINNET_TEST_RESULTS/mpich_suite.tsv}
# shellcheck disable=SC2086  # two words, or none; several folders
"${PYTHON:-python3}" "$top_srcdir/tests/mpich/run_mpich.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --logs "$logs" \
    --table "$logs/table.tsv" $results $what
