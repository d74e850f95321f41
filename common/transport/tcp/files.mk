# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/tcp: links over TCP connections

noinst_LTLIBRARIES += liblinnet-transport-tcp.la
liblinnet_la_LIBADD += liblinnet-transport-tcp.la
liblinnet_transport_tcp_la_SOURCES = \
    transport/tcp/addresses.cc \
    transport/tcp/link.h \
    transport/tcp/opening.cc \
    transport/tcp/receive.cc \
    transport/tcp/send.cc \
    transport/tcp/setup.cc \
    transport/tcp/tcp_transport.cc \
    transport/tcp/tcp_transport.h
