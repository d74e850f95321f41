# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors

test_programs += unit_match_test
single_threaded_programs += unit_match_test
seeded_programs += unit_match_test
unit_match_test_SOURCES = \
    unit/match/match_memory_test.cc \
    unit/match/match_model_test.cc \
    unit/match/match_space_test.cc
unit_match_test_LDADD = $(TEST_LIBS) $(libs_match)
