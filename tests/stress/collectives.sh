#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Collective operations of 8 ranks on 4 hosts of a lab over the installed component: half of the time as one job and half as many short ones, since
# connections are made in the first moments.
. "${top_srcdir:?}/tests/stress/lab_jobs.sh"
begin_jobs collectives_stress
end=$(($(date +%s) + seconds))
job $((seconds / 2)) || exit 1
jobs=0
while [ "$(date +%s)" -lt "$end" ]; do
    job 1 allgather 65536 || exit 1
    jobs=$((jobs + 1))
done
echo "$jobs short jobs"
