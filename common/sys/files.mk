# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# sys: system calls

noinst_LTLIBRARIES += liblinnet-sys.la
liblinnet_la_LIBADD += liblinnet-sys.la
liblinnet_sys_la_LIBADD = $(HWLOC_LIBS)
liblinnet_sys_la_SOURCES = \
    sys/cache_size.cc \
    sys/cache_size.h \
    sys/call_cost.cc \
    sys/call_cost.h \
    sys/cpu_set.cc \
    sys/cpu_set.h \
    sys/dsa_queue.cc \
    sys/dsa_queue.h \
    sys/epoll_set.cc \
    sys/epoll_set.h \
    sys/error.cc \
    sys/error.h \
    sys/event_fd.cc \
    sys/event_fd.h \
    sys/fd.cc \
    sys/fd.h \
    sys/flat_pieces.h \
    sys/fork_flag.cc \
    sys/fork_flag.h \
    sys/futex.cc \
    sys/futex.h \
    sys/inet_address.cc \
    sys/inet_address.h \
    sys/interface_choice.cc \
    sys/memfd.cc \
    sys/memfd.h \
    sys/net_interfaces.cc \
    sys/net_interfaces.h \
    sys/packet_ring.cc \
    sys/packet_ring.h \
    sys/plain_call.h \
    sys/process.cc \
    sys/process.h \
    sys/process_barrier.cc \
    sys/process_barrier.h \
    sys/remote_process.cc \
    sys/remote_process.h \
    sys/system_clock.h \
    sys/tcp_sent.cc \
    sys/tcp_socket.cc \
    sys/tcp_socket.h \
    sys/thread.cc \
    sys/thread.h \
    sys/timer_fd.cc \
    sys/timer_fd.h \
    sys/topology.cc \
    sys/topology.h \
    sys/udp_socket.cc \
    sys/udp_socket.h \
    sys/unforked_page.cc \
    sys/unforked_page.h \
    sys/unix_socket.cc \
    sys/unix_socket.h
