# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of core: the parts of a context. (The whole of it: integration/waist.)

test_programs += unit_core_test
single_threaded_programs += unit_core_test
unit_core_test_SOURCES = \
    support/stats_page_of.h \
    unit/core/copy_choice_test.cc \
    unit/core/path_profile_test.cc \
    unit/core/stats_publisher_test.cc \
    unit/core/transport_table_test.cc
unit_core_test_LDADD = $(TEST_LIBS) $(libs_core)
