# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of wire: golden bytes. A change of these is a change of the protocol: docs/wire-protocol.md and the version must change with them.

test_programs += unit_wire_test
single_threaded_programs += unit_wire_test
seeded_programs += unit_wire_test
unit_wire_test_SOURCES = \
    support/hex.h \
    unit/wire/crc32c_test.cc \
    unit/wire/frame_test.cc \
    unit/wire/name_test.cc \
    unit/wire/packet_test.cc
unit_wire_test_LDADD = $(TEST_LIBS) $(libs_wire)
