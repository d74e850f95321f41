#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The same tests over providers of libfabric itself: what the tests hold to be in the manual pages must hold there too. The cases
# named Linnet* are about our provider; those in `differ` are where that provider departs from the pages, or does not survive the question.
set -u
program=${top_builddir:?}/tests/integration_ofi_test
[ -x "$program" ] || { echo "the libfabric provider is not in this build"; exit 77; }
status=0
for provider in ${LINNET_TEST_OTHER_PROVIDERS:-sockets tcp}; do
    case $provider in
        # remote data without its flag; a counter bound for sends or writes alone; a fetch is told as a write; an endpoint that is bound to nothing; sread's status after fi_cq_signal;
        # a completion queue that was full loses an entry now and then
        sockets) differ=':*CannotBeClosedWhile*:*RemoteDataComes*:Counters.*:*CountersCountWrites*:Atomics.BaseFetch*:*CannotBeEnabled*:*BlockingReadEnds*:*MoreCompletionsThanItsSize*' ;;
        # olen 0; an endpoint without an address vector
        *) differ=':*CannotBeClosedWhile*:*TooShortABuffer*:*CannotBeEnabled*' ; provider='tcp;ofi_rxm' ;;
    esac
    echo "== $provider"
    FI_PROVIDER=$provider LINNET_TEST_FI_PROVIDER=$provider "$program" --gtest_brief=1 --gtest_filter="-Linnet*:*/Linnet*$differ" || status=1
done
exit $status
