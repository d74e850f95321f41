#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPICH test suite over the installed component, between two hosts of a lab. Part of `make installcheck`; needs root.
# LINNET_TEST_MPICH: what to run: --quick (the default), nothing for the default folders, or folders; none: not at all; all: every entry of every list, and
# within this host, too, both by mtl ofi, and what is one-sided by btl ofi, which takes hours.
name=mpich$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
what=${LINNET_TEST_MPICH---quick}
[ "$what" != none ] || { echo "LINNET_TEST_MPICH is none"; exit 77; }
lab_up --hosts 2
logs=${top_builddir:?}/tests/mpich/logs
# suite PLACE OPTION...
suite() {
    place=$1
    shift
    # shellcheck disable=SC2086  # two words, or none; several folders
    "${PYTHON:-python3}" "$top_srcdir/tests/mpich/run_mpich.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --logs "$logs/$place" --table "$logs/$place.tsv" $results \
        "$@" $what
    status=$?
    [ $status != 77 ] || exit 77
    [ $status = 0 ] || failed=1
}
suite between-hosts --lab "$name"
[ "$what" != all ] || suite within-a-host --transports shm
# And by Open MPI's own mtl ofi, over the libfabric provider.
if [ "$what" = all ] && has_mtl_ofi; then
    suite ofi-between-hosts --provider-dir "${LINNET_TEST_OFI_DIR:?}" --label "mtl ofi" --lab "$name"
    suite ofi-within-a-host --provider-dir "$LINNET_TEST_OFI_DIR" --label "mtl ofi"
    what=   # one-sided operations, by btl ofi
    suite btl-between-hosts --provider-dir "$LINNET_TEST_OFI_DIR" --btl-ofi --label "btl ofi" --lab "$name"
    suite btl-within-a-host --provider-dir "$LINNET_TEST_OFI_DIR" --btl-ofi --label "btl ofi"
fi
exit $failed
