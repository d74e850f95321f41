# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# stats: counters, histograms, trace ring, statistics page

noinst_LTLIBRARIES += liblinnet-stats.la
liblinnet_la_LIBADD += liblinnet-stats.la
liblinnet_stats_la_SOURCES = \
    stats/counter_table.h \
    stats/counters.h \
    stats/histogram.h \
    stats/stats_page.cc \
    stats/stats_page.h \
    stats/trace.cc \
    stats/trace.h
