# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of stats

test_programs += unit_stats_test
seeded_programs += unit_stats_test
unit_stats_test_SOURCES = \
    unit/stats/counters_test.cc \
    unit/stats/histogram_test.cc \
    unit/stats/stats_page_test.cc \
    unit/stats/trace_test.cc
unit_stats_test_LDADD = $(TEST_LIBS) $(libs_stats)
