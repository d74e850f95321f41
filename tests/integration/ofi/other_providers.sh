#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The same tests over providers of libfabric itself: what the tests hold to be in the manual pages must hold there too. The cases
# named Linnet* are about our provider; those in `differ` are where that provider departs from the pages, or does not survive the question.
#
# A case that fails, or that the provider died in or before, runs again in a process of its own, up to three times: what is tested
# is our reading of the pages, and a case that the provider passes agrees with it. (Under load `sockets` loses a completion in one
# of ten runs of Rma.ManyAtOnceAllEnd, for one.)
set -u
program=${top_builddir:?}/tests/integration_ofi_test
[ -x "$program" ] || { echo "the libfabric provider is not in this build"; exit 77; }
table=/dev/null
[ -z "${LINNET_TEST_RESULTS:-}" ] || table=$LINNET_TEST_RESULTS/other_providers.tsv
LINNET_TEST_RESULTS=$(mktemp -d) || exit 1   # of one run here
export LINNET_TEST_RESULTS
trap 'rm -rf "$LINNET_TEST_RESULTS"' EXIT

# cases FILTER: the names of the cases that it selects
cases() { "$program" --gtest_list_tests --gtest_filter="$1" | awk '/^[^ ].*\./ { suite = $1 } /^  / { print suite $1 }'; }
run() { FI_PROVIDER=$provider LINNET_TEST_FI_PROVIDER=$provider "$program" --gtest_brief=1 --gtest_filter="$1"; }
# agrees CASE: whether the provider passed it in the run of all, or passes it alone in one of three turns
agrees() {
    awk -F'\t' -v case="$1" '$3 == case { verdict = $1 } END { exit verdict != "pass" }' "$LINNET_TEST_RESULTS/integration_ofi_test.tsv" && return
    for turn in 1 2 3; do
        echo "$provider: $1 alone, turn $turn"
        LINNET_TEST_RESULTS='' run "$1" && return
    done
    return 1
}

status=0
for provider in ${LINNET_TEST_OTHER_PROVIDERS:-sockets tcp}; do
    case $provider in
        # remote data without its flag; a counter bound for sends or writes alone; a fetch is told as a write; an endpoint that is bound to nothing; sread's status after fi_cq_signal;
        # a completion queue that was full loses an entry now and then; the release of a multi-receive buffer is not told without FI_COMPLETION
        sockets) differ=':*CannotBeClosedWhile*:*RemoteDataComes*:Counters.*:*CountersCountWrites*:Atomics.BaseFetch*:*CannotBeEnabled*:*BlockingReadEnds*:*MoreCompletionsThanItsSize*:*ReleaseIsTold*' ;;
        # olen 0; an endpoint without an address vector; shared contexts and fences are not offered; the release of a multi-receive buffer, as above
        *) differ=':*Shared*:*CannotBeClosedWhile*:*TooShortABuffer*:*CannotBeEnabled*:Fence.*:*ReleaseIsTold*' ; provider='tcp;ofi_rxm' ;;
    esac
    echo "== $provider"
    selected=$(cases "-Linnet*:*/Linnet*$differ")
    [ -n "$selected" ] || { echo "no case is selected"; status=1; }
    rm -f "$LINNET_TEST_RESULTS"/*
    run "-Linnet*:*/Linnet*$differ"
    for case in $selected; do
        if agrees "$case"; then verdict=pass reason=; else verdict=fail reason='alone, too, in each of three turns' status=1; fi
        printf '%s\tother_providers\t%s %s\t%s\n' $verdict "$provider" "$case" "$reason" >>"$table"
    done
done
exit $status
