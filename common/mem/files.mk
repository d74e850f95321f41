# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# mem: pools and the iovec cursor

noinst_LTLIBRARIES += liblinnet-mem.la
liblinnet_la_LIBADD += liblinnet-mem.la
liblinnet_mem_la_SOURCES = \
    mem/block_pool.cc \
    mem/block_pool.h \
    mem/iov_cursor.cc \
    mem/iov_cursor.h \
    mem/poison.h \
    mem/pool.h
