# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# contract: what every transport promises, on every transport

test_programs += contract_test
long_programs += contract_test
seeded_programs += contract_test
contract_test_SOURCES = \
    contract/endpoint.cc \
    contract/endpoint.h \
    contract/frame_link_test.cc \
    contract/raw_peer.h \
    contract/shm_heir_test.cc \
    contract/shm_link_test.cc \
    contract/shm_processes.h \
    contract/shm_read_test.cc \
    contract/tcp_link_test.cc \
    contract/tcp_hot_test.cc \
    contract/tcp_later_test.cc \
    contract/tcp_sleep_test.cc \
    contract/transport_contract_test.cc \
    contract/udp_cut_test.cc \
    contract/udp_port_test.cc \
    support/faulty_port.cc \
    support/faulty_port.h \
    support/faulty_transport.cc \
    support/faulty_transport.h \
    support/net_namespace.cc \
    support/net_namespace.h \
    support/sim_port.h
# udp_cut_test.cc stands between UdpPort and the system.
contract_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=_ZN6linnet8udp_sendEiSt4spanIKNS_9UdpRunOutELm18446744073709551615EE
contract_test_LDADD = $(TEST_LIBS) $(top_builddir)/common/liblinnet-transport-loopback.la \
    $(top_builddir)/common/liblinnet-transport-shm.la $(top_builddir)/common/liblinnet-transport-tcp.la \
    $(top_builddir)/common/liblinnet-transport-eth.la $(libs_transport_udp)
