# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Unit tests of model

test_programs += unit_model_test
single_threaded_programs += unit_model_test
unit_model_test_SOURCES = \
    unit/model/cost_test.cc \
    unit/model/lane_choice_test.cc \
    unit/model/loss_rate_test.cc \
    unit/model/path_choice_test.cc \
    unit/model/profile_test.cc \
    unit/model/samples_test.cc
unit_model_test_LDADD = $(TEST_LIBS) $(libs_model)
