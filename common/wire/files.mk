# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# wire: what stands on the wire; headers alone

noinst_LTLIBRARIES += liblinnet-wire.la
liblinnet_la_LIBADD += liblinnet-wire.la
liblinnet_wire_la_SOURCES = \
    wire/crc32c.h \
    wire/frame.h \
    wire/hello.h \
    wire/name.h \
    wire/packet.h
