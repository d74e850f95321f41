# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# core: the context

noinst_LTLIBRARIES += liblinnet-core.la
liblinnet_la_LIBADD += liblinnet-core.la
liblinnet_core_la_SOURCES = \
    core/context.cc \
    core/context.h \
    core/copy_choice.cc \
    core/copy_choice.h \
    core/path_profile.cc \
    core/path_profile.h \
    core/stats_publisher.cc \
    core/stats_publisher.h \
    core/transport_table.cc \
    core/transport_table.h
