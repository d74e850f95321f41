#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# TCP keeps its rate on the interfaces and through the port of 1 Gbit/s that Linnet uses, over UDP and over raw Ethernet frames. Part of `make installcheck`, of
# which it is the last: the stream needs its share of the cores. Needs root.
name=beside$$
. "${top_srcdir:?}/tests/support/job_suite.sh"
need_component
lab_up --hosts 2 --rate 1gbit --port-buffer 128k --burst 16k
for transports in udp shm,eth; do   # frames do not lead back to the host that they came from
    # shellcheck disable=SC2086  # two words, or none
    "${PYTHON:-python3}" "$top_srcdir/tests/integration/run_mpi.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --lab "$name" --transports "$transports" --narrow \
        --clocked only --build "${top_builddir:?}/tests/integration/beside-jobs" $results "$@" || failed=1
done
cat "$top_builddir"/tests/integration/beside-jobs/*.log | grep "^TCP's rate"
exit $failed
