# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of sys

test_programs += unit_sys_test
unit_sys_test_SOURCES = \
    support/net_namespace.cc \
    support/net_namespace.h \
    unit/sys/call_cost_test.cc \
    unit/sys/epoll_set_test.cc \
    unit/sys/error_test.cc \
    unit/sys/event_fd_test.cc \
    unit/sys/fd_test.cc \
    unit/sys/fork_flag_test.cc \
    unit/sys/futex_test.cc \
    unit/sys/inet_address_test.cc \
    unit/sys/memfd_test.cc \
    unit/sys/net_interfaces_test.cc \
    unit/sys/packet_ring_test.cc \
    unit/sys/process_test.cc \
    unit/sys/remote_process_test.cc \
    unit/sys/system_clock_test.cc \
    unit/sys/tcp_socket_test.cc \
    unit/sys/thread_test.cc \
    unit/sys/topology_test.cc \
    unit/sys/udp_socket_test.cc
unit_sys_test_LDADD = $(TEST_LIBS) $(libs_sys)
