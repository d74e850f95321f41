# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors

test_programs += unit_session_test
single_threaded_programs += unit_session_test
unit_session_test_SOURCES = \
    unit/session/bulk_port_test.cc \
    unit/session/handshake_test.cc \
    unit/session/opening_test.cc \
    unit/session/paths_test.cc \
    unit/session/session_layer_test.cc \
    unit/session/trials_test.cc \
    unit/session/two_networks.h
unit_session_test_CXXFLAGS = $(SIMULATION_CXXFLAGS)
unit_session_test_LDADD = libtestsim.la $(TEST_LIBS) $(libs_session)
