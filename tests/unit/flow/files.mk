# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors

test_programs += unit_flow_test
long_programs += unit_flow_test
single_threaded_programs += unit_flow_test
seeded_programs += unit_flow_test
unit_flow_test_SOURCES = \
    unit/flow/arrival_window_test.cc \
    unit/flow/credit_test.cc \
    unit/flow/flow_sim_test.cc \
    unit/flow/guess_test.cc \
    unit/flow/lane_row_test.cc \
    unit/flow/loss_test.cc \
    unit/flow/machine_test.cc \
    unit/flow/question_test.cc \
    unit/flow/shared_pools_test.cc \
    unit/flow/sleepers_test.cc \
    unit/flow/sim.cc \
    unit/flow/sim.h \
    unit/flow/two_hosts.h
unit_flow_test_CXXFLAGS = $(SIMULATION_CXXFLAGS)
unit_flow_test_LDADD = $(TEST_LIBS) $(libs_flow)
