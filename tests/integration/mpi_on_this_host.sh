#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPI programs over the installed component, all ranks on this host. Part of `make installcheck`.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
results=${LINNET_TEST_RESULTS:+--results $LINNET_TEST_RESULTS/mpi_on_this_host.tsv}
# shellcheck disable=SC2086  # two words, or none
exec "${PYTHON:-python3}" "${top_srcdir:?}/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" \
    --clocked without --build "${top_builddir:?}/tests/integration/here" $results
