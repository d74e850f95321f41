# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# match: posted receives and unexpected messages

noinst_LTLIBRARIES += liblinnet-match.la
liblinnet_la_LIBADD += liblinnet-match.la
liblinnet_match_la_SOURCES = \
    match/chain_table.h \
    match/element.h \
    match/match_space.h \
    match/posted_queue.cc \
    match/posted_queue.h \
    match/short_queue.h \
    match/unexpected_queue.cc \
    match/unexpected_queue.h

EXTRA_DIST += match/README.md
