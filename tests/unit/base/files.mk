# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of base

test_programs += unit_base_test
single_threaded_programs += unit_base_test
unit_base_test_SOURCES = \
    support/hex.h \
    unit/base/intrusive_list_test.cc \
    unit/base/log_test.cc \
    unit/base/ready_ref_test.cc \
    unit/base/siphash_test.cc \
    unit/base/status_test.cc \
    unit/base/wire_int_test.cc \
    unit/base/words_test.cc
unit_base_test_LDADD = $(TEST_LIBS) $(libs_base)
