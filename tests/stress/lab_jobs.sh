# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# For scripts, by ".": a program of stress/mpi over the installed component, 8 ranks on 4 hosts of a lab, for LINNET_TEST_SOAK_SECONDS (default 60).
# A job that falls silent is examined: stacks and statistics of each rank.
#
#   begin_jobs NAME     compiles NAME and makes the lab, which goes with the script
#   job [ARGUMENT...]   runs it
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
here=${top_srcdir:?}/tests/stress lab=$top_srcdir/tests/lab/lab seconds=${LINNET_TEST_SOAK_SECONDS:-60}
path=$LINNET_TEST_PLUGIN_DIR:$(ompi_info --parsable --path pkglibdir | sed -n 's/^path:pkglibdir://p')

begin_jobs() {
    build=${top_builddir:?}/tests/stress
    program=$build/$1
    name=$(echo "$1" | cut -c1-4)$$
    mkdir -p "$build" && "${MPICC:-mpicc}" -std=gnu11 -O2 -g -o "$program" "$here/mpi/$1.c" -lpthread || exit 1
    trap '"$lab" down -n "$name"' EXIT
    trap 'exit 1' INT TERM
    "$lab" up -n "$name" --hosts 4 || exit $?
}

job() {
    "${PYTHON:-python3}" "$here/watch_mpi.py" --quiet --program "$program" --silence 20 --top "$top_builddir/tools/linnet-top" -- \
        "$lab" mpirun -n "$name" --ppn 2 --map-by node \
        --mca pml cm --mca mtl linnet --mca mca_base_component_path "$path" -- "$program" "$@"
}
