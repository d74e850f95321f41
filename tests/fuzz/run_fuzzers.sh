#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs libFuzzer on every target, LINNET_TEST_SOAK_SECONDS each (default 60), from the corpus in the tree on. What is new, and what fails, is left in fuzz/
# of the build tree. Each target is a case; exit status 1 when one failed. make check TESTS=fuzz/run_fuzzers.sh, in a tree of configure --enable-fuzzer.
set -u
driver=${top_builddir:?}/tests/fuzz_driver work=$top_builddir/tests/fuzz/found seconds=${LINNET_TEST_SOAK_SECONDS:-60}
[ -x "$driver" ] || { echo "fuzz_driver is not in this build: configure --enable-fuzzer, with clang"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
failed=0
for target in flow frames hello session tcp settings; do
    mkdir -p "$work/$target" "$work/failures" "$here/corpus/$target" 2>/dev/null
    log=$work/$target.log
    if LINNET_TEST_FUZZ_TARGET=$target "$driver" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=2048 -print_final_stats=1 \
        -artifact_prefix="$work/failures/$target-" "$work/$target" "$here/corpus/$target" >"$log" 2>&1; then
        verdict=pass
    else
        verdict=fail failed=1
        tail -n 40 "$log"
    fi
    echo "$verdict: $target: $(grep -c NEW "$log") new inputs, $(sed -n 's/^stat::number_of_executed_units: //p' "$log") runs"
    [ -z "${LINNET_TEST_RESULTS:-}" ] || printf '%s\trun_fuzzers\t%s\t\n' "$verdict" "$target" >>"$LINNET_TEST_RESULTS/run_fuzzers.tsv"
done
exit $failed
