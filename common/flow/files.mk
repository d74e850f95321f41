# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# flow: reliability over an unreliable datagram link

noinst_LTLIBRARIES += liblinnet-flow.la
liblinnet_la_LIBADD += liblinnet-flow.la
liblinnet_flow_la_SOURCES = \
    flow/arrival_window.h \
    flow/bulk.cc \
    flow/bulk.h \
    flow/connection.h \
    flow/credit.h \
    flow/frame_pool.h \
    flow/lane.cc \
    flow/lane.h \
    flow/machine.cc \
    flow/machine.h \
    flow/numbers.h \
    flow/produce.cc \
    flow/receive.cc \
    flow/rows.cc \
    flow/timers.cc \
    flow/timing.h
