#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Collective operations of 8 ranks on 4 hosts of a lab over the installed component, for LINNET_TEST_SOAK_SECONDS (default 60), half of it as one job and half as
# many short ones, since connections are made in the first moments. A job that falls silent is examined: stacks and statistics of each rank.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
here=${top_srcdir:?}/tests/stress lab=$top_srcdir/tests/lab/lab name=coll$$ seconds=${LINNET_TEST_SOAK_SECONDS:-60}
build=${top_builddir:?}/tests/stress
program=$build/collectives_stress
top=$top_builddir/tools/linnet-top
mkdir -p "$build" && "${MPICC:-mpicc}" -std=gnu11 -O2 -g -o "$program" "$here/mpi/collectives_stress.c" || exit 1
trap '"$lab" down -n "$name"' EXIT
trap 'exit 1' INT TERM
"$lab" up -n "$name" --hosts 4 || exit $?
path=$LINNET_TEST_PLUGIN_DIR:$(ompi_info --parsable --path pkglibdir | sed -n 's/^path:pkglibdir://p')
job() {
    "${PYTHON:-python3}" "$here/watch_mpi.py" --quiet --program "$program" --silence 20 --top "$top" -- "$lab" mpirun -n "$name" --ppn 2 --map-by node \
        --mca pml cm --mca mtl linnet --mca mca_base_component_path "$path" -- "$program" "$@"
}
end=$(($(date +%s) + seconds))
job $((seconds / 2)) || exit 1
jobs=0
while [ "$(date +%s)" -lt "$end" ]; do
    job 1 allgather 65536 || exit 1
    jobs=$((jobs + 1))
done
echo "$jobs short jobs"
