# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# base: what every layer uses

noinst_LTLIBRARIES += liblinnet-base.la
liblinnet_la_LIBADD += liblinnet-base.la
liblinnet_base_la_SOURCES = \
    base/annotations.h \
    base/assert.h \
    base/clock.h \
    base/ids.h \
    base/intrusive_list.h \
    base/log.cc \
    base/log.h \
    base/pch.h \
    base/ready_ref.h \
    base/siphash.h \
    base/status.h \
    base/wire_int.h \
    base/words.h
