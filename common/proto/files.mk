# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# proto: eager, rendezvous, active messages, one-sided operations

noinst_LTLIBRARIES += liblinnet-proto.la
liblinnet_la_LIBADD += liblinnet-proto.la
liblinnet_proto_la_SOURCES = \
    proto/active.cc \
    proto/args.h \
    proto/arrive.cc \
    proto/atomic.cc \
    proto/atomic_ops.cc \
    proto/atomic_ops.h \
    proto/build.h \
    proto/data.cc \
    proto/data.h \
    proto/delivery.cc \
    proto/hand_over.cc \
    proto/lean.h \
    proto/onesided.cc \
    proto/peer.h \
    proto/proto.cc \
    proto/proto.h \
    proto/recv.cc \
    proto/rendezvous.cc \
    proto/region_table.cc \
    proto/region_table.h \
    proto/request.h \
    proto/send.cc \
    proto/short.cc \
    proto/slot_table.h \
    proto/space_table.cc \
    proto/space_table.h
