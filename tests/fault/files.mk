# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# fault: whole layers over a simulated net that breaks

# A net in one process, and a session layer over it, with a sink that checks what sessions promise.
check_LTLIBRARIES += libtestsim.la
libtestsim_la_SOURCES = \
    support/bulk_book.cc \
    support/bulk_book.h \
    support/session_node.cc \
    support/session_node.h \
    support/sim_net.cc \
    support/sim_transport.cc \
    support/sim_transport.h \
    support/sim_world.h
libtestsim_la_CXXFLAGS = $(SIMULATION_CXXFLAGS)

test_programs += fault_test
long_programs += fault_test
single_threaded_programs += fault_test
fault_test_SOURCES = fault/session_fault_test.cc
fault_test_CXXFLAGS = $(SIMULATION_CXXFLAGS)
fault_test_LDADD = libtestsim.la $(TEST_LIBS) $(libs_session)
