# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The libfabric provider against the manual pages of libfabric; what does not begin with Linnet holds for any provider.

dist_check_SCRIPTS += integration/ofi/between_hosts.sh integration/ofi/other_providers.sh integration/ofi/pingpong.sh
if BUILD_OFI_PROVIDER
test_programs += integration_ofi_test
long_programs += integration_ofi_test
waiting_programs += integration_ofi_test
TESTS += integration/ofi/between_hosts.sh integration/ofi/other_providers.sh integration/ofi/pingpong.sh
endif BUILD_OFI_PROVIDER
# Operators new and delete of its own, as ThreadSanitizer has them.
if BUILD_OFI_PROVIDER
test_programs += integration_ofi_memory_test
single_threaded_programs += integration_ofi_memory_test
endif BUILD_OFI_PROVIDER
integration_ofi_memory_test_SOURCES = \
    integration/ofi/memory_test.cc \
    integration/ofi/node.cc \
    integration/ofi/node.h \
    support/heap.cc \
    support/heap.h \
    support/net_namespace.cc \
    support/net_namespace.h
integration_ofi_memory_test_CPPFLAGS = $(AM_CPPFLAGS) $(OFI_CPPFLAGS)
integration_ofi_memory_test_LDADD = $(TEST_LIBS) $(libs_sys) $(OFI_LIBS)
integration_ofi_memory_test_DEPENDENCIES = libtestsupport.la
integration_ofi_test_SOURCES = \
    integration/ofi/addresses_test.cc \
    integration/ofi/atomic_test.cc \
    integration/ofi/atomic_values_test.cc \
    integration/ofi/attributes_test.cc \
    integration/ofi/auto_progress_test.cc \
    integration/ofi/delivery_test.cc \
    integration/ofi/fence_test.cc \
    integration/ofi/flags_test.cc \
    integration/ofi/levels_test.cc \
    integration/ofi/names_test.cc \
    integration/ofi/node.cc \
    integration/ofi/node.h \
    integration/ofi/queues_test.cc \
    integration/ofi/reach_test.cc \
    integration/ofi/reading_test.cc \
    integration/ofi/region.cc \
    integration/ofi/region.h \
    integration/ofi/rma_test.cc \
    integration/ofi/shared_hub.h \
    integration/ofi/shared_multi_test.cc \
    integration/ofi/shared_rx_test.cc \
    integration/ofi/shared_test.cc \
    integration/ofi/threads_test.cc \
    integration/ofi/transfer_test.cc \
    integration/ofi/waiting_test.cc \
    integration/ofi/wrong_use_test.cc \
    support/net_namespace.cc \
    support/net_namespace.h
integration_ofi_test_CPPFLAGS = $(AM_CPPFLAGS) $(OFI_CPPFLAGS)
integration_ofi_test_LDADD = $(TEST_LIBS) $(libs_sys) $(OFI_LIBS)
integration_ofi_test_DEPENDENCIES = libtestsupport.la
