# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport: the interface, and what several transports share

noinst_LTLIBRARIES += liblinnet-transport.la
liblinnet_la_LIBADD += liblinnet-transport.la
liblinnet_transport_la_SOURCES = \
    transport/calls.h \
    transport/link_table.h \
    transport/name_inet.h \
    transport/own_addresses.cc \
    transport/own_addresses.h \
    transport/transport.h
