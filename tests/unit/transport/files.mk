# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of transport: what the transports share

test_programs += unit_transport_test
unit_transport_test_SOURCES = \
    unit/transport/link_table_test.cc
unit_transport_test_LDADD = $(TEST_LIBS) $(libs_transport)
