#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The tests of one-sided operations, of messages, their flags and fences, with the two sides on two hosts, joined by a cable. Needs root.
set -u
program=${top_builddir:?}/tests/integration_ofi_test
[ -x "$program" ] || { echo "the libfabric provider is not in this build"; exit 77; }
if ! ip netns list >/dev/null 2>&1 || ! unshare --net true 2>/dev/null; then
    echo "network namespaces are not permitted here"
    exit 77
fi
LINNET_TEST_HOSTS=2 "$program" --gtest_brief=1 --gtest_filter='*Rma*:*Atomics*:*Messages*:*Fence*:*Flags*:*Limits*:*Memory*'
