# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of common/progress

test_programs += unit_progress_test
unit_progress_test_SOURCES = \
    unit/progress/crowd_test.cc \
    unit/progress/engine_fixture.h \
    unit/progress/engine_host_test.cc \
    unit/progress/fake_source.h \
    unit/progress/gap_predictor_test.cc \
    unit/progress/gated_sleep_test.cc \
    unit/progress/kept_off_test.cc \
    unit/progress/pollers_test.cc \
    unit/progress/progress_engine_test.cc \
    unit/progress/rare_question_test.cc \
    unit/progress/task_source_test.cc \
    unit/progress/ticks_test.cc \
    unit/progress/waiting_policy_test.cc
unit_progress_test_LDADD = $(TEST_LIBS) $(libs_progress)
