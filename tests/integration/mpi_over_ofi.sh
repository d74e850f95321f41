#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# MPI programs with stock Open MPI's own mtl ofi and btl ofi over the installed libfabric provider, on this host and between two hosts of a lab.
# Part of `make installcheck`; needs root.
name=ofi$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
provider=${LINNET_TEST_OFI_DIR:?}
[ -e "$provider/liblinnet-fi.so" ] || { echo "the libfabric provider is not in this build"; exit 77; }
command -v "${MPIRUN:-mpirun}" >/dev/null || { echo "there is no Open MPI"; exit 77; }
ompi_info 2>/dev/null | grep -q 'MCA mtl: ofi' || { echo "this Open MPI has no mtl ofi"; exit 77; }
lab_up --hosts 2
over_provider() {
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --pml ofi --provider-dir "$provider" --top "${LINNET_TEST_PREFIX:?}/bin/linnet-top" \
        --build "${top_builddir:?}/tests/integration/ofi-jobs" $results "$@" || failed=1
}
# Not all that run_mpi.py --pml ofi has: what the component does not show too. (A death is in deaths.sh.)
over_provider -k '^(probes on 2|completion on 2|spawn on 2|onesided|rma)'
over_provider --lab "$name" --label "two hosts" -k '^(modes|ordering on 4|collectives on 4|onesided|rma)'
exit $failed
