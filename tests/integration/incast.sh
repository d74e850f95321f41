#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Four hosts, and seven, send to one at the same time, over UDP and over raw Ethernet frames, through a port of 1 Gbit/s with a buffer of 128 KB that drops
# what it cannot hold; four also where the network loses 5 % of the frames besides. Part of `make installcheck`; needs root.
name=incast$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
dropped() {   # by the port that leads to h0
    "$lab" stats -n "$name" --json | "${PYTHON:-python3}" -c 'import json, sys; print(json.load(sys.stdin)["hosts"]["h0"]["port"]["dropped"])'
}
# run SENDERS TRANSPORTS LABEL
run() {
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --hosts $(($1 + 1)) \
        --transports "$2" --label "$3" --narrow --build "${top_builddir:?}/tests/integration/incast" $results $more || failed=1
}
more=$*
for senders in 4 7; do
    lab_up --hosts $((senders + 1)) --rate 1gbit --port-buffer 128k --burst 16k
    for transports in udp shm,eth; do   # frames do not lead back to the host that they came from
        before=$(dropped)
        run "$senders" "$transports" "$senders to 1"
        after=$(dropped)
        echo "the port dropped $((after - before)) packets"
        # Single frames are sent so slowly where all hosts share two cores that the port may hold them.
        [ "$after" -gt "$before" ] || [ "$transports" != udp ] || { echo "FAIL: it held them all"; failed=1; }
    done
    if [ "$senders" = 4 ]; then
        for host in h0 h1 h2 h3 h4; do
            "$lab" fault -n "$name" "$host" --loss 0.05 || exit $?
        done
        for transports in udp shm,eth; do
            run "$senders" "$transports" "$senders to 1, 5 % lost"
        done
    fi
done
exit $failed
