#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# MPI_THREAD_MULTIPLE, 8 ranks on 4 hosts of a lab over the installed component: two, four and eight threads a rank, a third of the time each.
. "${top_srcdir:?}/tests/stress/lab_jobs.sh"
begin_jobs threads_stress
for threads in 2 4 8; do
    job $((seconds / 3)) "$threads" || exit 1
    echo "$threads threads a rank, for $((seconds / 3)) s: all messages right"
done
