#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPI programs over the installed component, over UDP and over raw Ethernet frames, between two hosts of a lab: on a sound network, and on networks
# that lose, double, reorder and damage frames, or are away for two seconds. Part of `make installcheck`; needs root.
# LINNET_TEST_FRAMES: --quick (the default), nothing for everything, which takes most of an hour; none: not at all.
name=frames$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
what=${LINNET_TEST_FRAMES---quick}
[ "$what" != none ] || { echo "LINNET_TEST_FRAMES is none"; exit 77; }

# network LABEL LAB_OPTIONS FAULT_OPTIONS: the lab of the runs that follow. One frame is one frame where frames get lost; mpirun's own connections share
# their fate.
network() {
    label=$1
    # shellcheck disable=SC2086  # several words
    lab_up --hosts 2 $2
    for host in h0 h1; do
        # shellcheck disable=SC2086
        [ -z "$3" ] || "$lab" fault -n "$name" "$host" $3 || exit $?
    done
}
# over TRANSPORTS CASES OPTION...
over() {
    transports=$1 cases=$2
    shift 2
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --transports "$transports" \
        --label "$label" -k "$cases" --build "${top_builddir:?}/tests/integration/frames" $results "$@" || failed=1
}
both() {
    over udp "$@"
    over shm,eth "$@"   # frames do not lead back to the host that they came from
}
# suites MCA_OPTION...: the point-to-point folder of the MPICH test suite and hpcc, which verify what they receive, on a network with faults. Without the three
# entries that demand a cancelled eager send: they pass over nothing, in minutes.
suites() {
    for transports in udp shm,eth; do
        # shellcheck disable=SC2086  # two words, or none
        "${PYTHON:-python3}" "$top_srcdir/tests/mpich/run_mpich.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --transports "$transports" --label "$transports, $label" \
            --logs "${top_builddir:?}/tests/mpich/logs/$transports-$(echo "$label" | tr -c 'A-Za-z0-9\n' -)" $results --patience 3 "$@" -k '^pt2pt/(?!p?scancel)' pt2pt || failed=1
        # shellcheck disable=SC2086
        "${PYTHON:-python3}" "$top_srcdir/tests/programs/run_programs.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --transports "$transports" --label "$label" \
            --build "${top_builddir:?}/tests/programs/frames" $results --patience 3 "$@" -k '^hpcc on 2, 2 hosts$' || failed=1
    done
}

exchange='^(modes on 2|ordering on 2|collectives on [24]|truncation on 2|wildcards on 2|flood on 2|persistent on 2)$'
if [ "$what" = --quick ]; then
    network "" "" ""
    both '^(wildcards on 4|probes on 2|truncation on 2|ordering on 2|collectives on 4|counters on 2)$'
    network "1 % of frames lost" --segment "--loss 0.01 --seed 3"
    both '^(modes on 2|collectives on 2)$'
    over auto '^(modes on 2|collectives on 2)$'   # links leave TCP for raw Ethernet in the midst of it
    exit $failed
fi
network "" --v6 ""
both .
for loss in 0.0001 0.001 0.01 0.05; do
    network "$loss of frames lost" --segment "--loss $loss --seed 5"
    both "$exchange" --patience 3
    suites
done
network "1 % of frames doubled" --segment "--duplicate 0.01"
both "$exchange" --patience 3
suites
network "1 % of frames overtake" --segment "--delay 200us --reorder 0.01"
both "$exchange" --patience 3
suites
network "1 % of frames damaged" "--segment --checksums" "--corrupt 0.01"
both "$exchange" --patience 3 --mca mtl_linnet_frame_crc=1
suites --mca mtl_linnet_frame_crc=1
network "the link is away for 2 s" "" ""
both '^(modes on 2|collectives on 2|threads on 2|flood 100000 on 2)$' --patience 3 --full --pull 3
exit $failed
