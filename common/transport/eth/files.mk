# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/eth: links over raw Ethernet frames

noinst_LTLIBRARIES += liblinnet-transport-eth.la
liblinnet_la_LIBADD += liblinnet-transport-eth.la
liblinnet_transport_eth_la_SOURCES = \
    transport/eth/eth_port.cc \
    transport/eth/eth_port.h \
    transport/eth/knocks.cc \
    transport/eth/setup.cc
