# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/shm: links through shared memory

noinst_LTLIBRARIES += liblinnet-transport-shm.la
liblinnet_la_LIBADD += liblinnet-transport-shm.la
liblinnet_transport_shm_la_SOURCES = \
    transport/shm/link.h \
    transport/shm/long_read.cc \
    transport/shm/long_read.h \
    transport/shm/opening.cc \
    transport/shm/reading.cc \
    transport/shm/reading.h \
    transport/shm/receive.cc \
    transport/shm/segment.h \
    transport/shm/send.cc \
    transport/shm/shm_transport.cc \
    transport/shm/shm_transport.h
