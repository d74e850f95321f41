# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# For scripts of `make installcheck` that run jobs between hosts of a lab; sourced, with the lab's name in `name`. The lab goes when the script ends.
# Gives: lab, results (the option of run_*.py that leaves a line per case, two words or none), failed, need_component, has_mtl_ofi, lab_up.
# shellcheck shell=sh disable=SC2034,SC2154
set -u
lab=${top_srcdir:?}/tests/lab/lab
results=${LINNET_TEST_RESULTS:+--results $LINNET_TEST_RESULTS/$(basename "$0" .sh).tsv}
failed=0
trap '"$lab" down -n "$name"' EXIT
trap 'exit 1' INT TERM

# Whether the libfabric provider is in this build, and Open MPI has the component that sends through it.
has_mtl_ofi() {
    [ -e "${LINNET_TEST_OFI_DIR:?}/liblinnet-fi.so" ] && ompi_info 2>/dev/null | grep -q 'MCA mtl: ofi'
}
need_component() {
    [ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
}
# lab_up OPTION...: in the place of the one before. Without one the script ends: skipped, where no privilege allows it and nothing has failed so far.
lab_up() {
    "$lab" down -n "$name"
    "$lab" up -n "$name" "$@" && return
    status=$?
    [ $failed = 0 ] || status=1
    exit $status
}
