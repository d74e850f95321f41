# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The waist as its hosts use it: tagged messages, a provider-like client, an active-message loop.

test_programs += integration_waist_test
integration_waist_test_SOURCES = \
    integration/waist/active_message_test.cc \
    integration/waist/attend_test.cc \
    integration/waist/choice_test.cc \
    integration/waist/counters_test.cc \
    integration/waist/delivery_test.cc \
    integration/waist/ending_test.cc \
    integration/waist/give_way_test.cc \
    integration/waist/messages_test.cc \
    integration/waist/narrow_test.cc \
    integration/waist/networks_test.cc \
    integration/waist/onesided_test.cc \
    integration/waist/path_test.cc \
    integration/waist/privilege_test.cc \
    integration/waist/provider_like_test.cc \
    integration/waist/replay_test.cc \
    integration/waist/space_test.cc \
    integration/waist/stats_page_test.cc \
    integration/waist/two_hosts.h \
    integration/waist/waist.h \
    support/net_namespace.cc \
    support/net_namespace.h \
    support/stats_page_of.h
integration_waist_test_LDADD = $(TEST_LIBS) $(top_builddir)/common/liblinnet.la $(libs_stats) $(libs_sys)

# The same as it comes: peers of one host share memory.
test_programs += integration_waist_shm_test
integration_waist_shm_test_CPPFLAGS = $(AM_CPPFLAGS) -DLINNET_WAIST_TRANSPORTS='"auto"' -DLINNET_WAIST_SHARED
integration_waist_shm_test_SOURCES = \
    integration/waist/active_message_test.cc \
    integration/waist/delivery_test.cc \
    integration/waist/messages_test.cc \
    integration/waist/onesided_test.cc \
    integration/waist/provider_like_test.cc \
    integration/waist/space_test.cc
integration_waist_shm_test_LDADD = $(TEST_LIBS) $(top_builddir)/common/liblinnet.la

# Operators new and delete of its own, as ThreadSanitizer has them: single-threaded for its tree's sake.
test_programs += integration_heap_test
single_threaded_programs += integration_heap_test
integration_heap_test_SOURCES = \
    integration/waist/heap_test.cc \
    integration/waist/memory_test.cc \
    integration/waist/waist.h \
    support/heap.cc \
    support/heap.h
integration_heap_test_LDADD = $(TEST_LIBS) $(top_builddir)/common/liblinnet.la

# It loads the library by itself.
test_programs += integration_unload_test
integration_unload_test_SOURCES = integration/waist/unload_test.cc
integration_unload_test_LDADD = $(TEST_LIBS)
integration_unload_test_DEPENDENCIES = libtestsupport.la $(top_builddir)/common/liblinnet.la
