# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# sync: locks, lists and rings between threads

noinst_LTLIBRARIES += liblinnet-sync.la
liblinnet_la_LIBADD += liblinnet-sync.la
liblinnet_sync_la_SOURCES = \
    sync/backoff.h \
    sync/bell_page.h \
    sync/chunk_table.h \
    sync/claim_queue.h \
    sync/lock.cc \
    sync/lock.h \
    sync/mpsc_list.h \
    sync/record_ring.h \
    sync/spsc_ring.h
