# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of transport/eth

test_programs += unit_eth_test
single_threaded_programs += unit_eth_test
unit_eth_test_SOURCES = \
    support/net_namespace.cc \
    support/net_namespace.h \
    unit/eth/eth_port_test.cc \
    unit/eth/listening_test.cc \
    unit/eth/path_table_test.cc
unit_eth_test_LDADD = $(TEST_LIBS) $(libs_transport_eth)
