# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of sync

test_programs += unit_sync_test
unit_sync_test_SOURCES = \
    unit/sync/backoff_test.cc \
    unit/sync/bell_page_test.cc \
    unit/sync/chunk_table_test.cc \
    unit/sync/claim_queue_test.cc \
    unit/sync/lock_test.cc \
    unit/sync/mpsc_list_test.cc \
    unit/sync/record_ring_test.cc \
    unit/sync/spsc_ring_test.cc
unit_sync_test_LDADD = $(TEST_LIBS) $(libs_sync)
