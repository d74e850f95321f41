# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/udp: links over UDP sockets

noinst_LTLIBRARIES += liblinnet-transport-udp.la
liblinnet_la_LIBADD += liblinnet-transport-udp.la
liblinnet_transport_udp_la_SOURCES = \
    transport/udp/setup.cc \
    transport/udp/udp_port.cc \
    transport/udp/udp_port.h
