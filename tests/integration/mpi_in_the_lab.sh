#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPI programs over the installed component, between two hosts of a lab. Part of `make installcheck`; needs root.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
lab=${top_srcdir:?}/tests/lab/lab
name=mpi$$
trap '"$lab" down -n "$name"' EXIT
trap 'exit 1' INT TERM
"$lab" up -n "$name" --hosts 2 --v6 || exit $?
results=${LINNET_TEST_RESULTS:+--results $LINNET_TEST_RESULTS/mpi_in_the_lab.tsv}
# shellcheck disable=SC2086  # two words, or none
"${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" \
    --clocked without --build "${top_builddir:?}/tests/integration/lab" $results
