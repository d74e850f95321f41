# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors

test_programs += unit_proto_test
unit_proto_test_SOURCES = \
    unit/proto/around_loopback.h \
    unit/proto/atomic_ops_test.cc \
    unit/proto/bulk_end_test.cc \
    unit/proto/credit_test.cc \
    unit/proto/hand_over_test.cc \
    unit/proto/own_peer.h \
    unit/proto/unasked_write_test.cc \
    unit/proto/write_first_test.cc
unit_proto_test_LDADD = $(TEST_LIBS) $(libs_proto) $(libs_transport_loopback)
