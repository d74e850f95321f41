# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/loopback: links from this process to itself

noinst_LTLIBRARIES += liblinnet-transport-loopback.la
liblinnet_la_LIBADD += liblinnet-transport-loopback.la
liblinnet_transport_loopback_la_SOURCES = \
    transport/loopback/loopback_transport.cc \
    transport/loopback/loopback_transport.h
