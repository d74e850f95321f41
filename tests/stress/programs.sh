#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The stress programs for LINNET_TEST_SOAK_SECONDS a case (default 60), and a million schedules of broken links (LINNET_TEST_RUNS).
set -u
cd "${top_builddir:?}/tests" || exit 1
LINNET_TEST_SOAK_SECONDS=${LINNET_TEST_SOAK_SECONDS:-60} LINNET_TEST_RUNS=${LINNET_TEST_RUNS:-1000000}
LINNET_TEST_TIMEOUT=$((LINNET_TEST_SOAK_SECONDS + LINNET_TEST_RUNS / 1000 + 300))   # of a case
export LINNET_TEST_SOAK_SECONDS LINNET_TEST_RUNS LINNET_TEST_TIMEOUT
failed=0
for program in stress_traffic_test fault_test; do
    "./$program" || failed=1
done
exit $failed
