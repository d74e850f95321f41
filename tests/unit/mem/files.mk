# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of mem

test_programs += unit_mem_test
single_threaded_programs += unit_mem_test
seeded_programs += unit_mem_test
unit_mem_test_SOURCES = \
    unit/mem/block_pool_test.cc \
    unit/mem/iov_cursor_test.cc \
    unit/mem/pool_test.cc
unit_mem_test_LDADD = $(TEST_LIBS) $(libs_mem)
