# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The libfabric provider against the manual pages of libfabric; what does not begin with Linnet holds for any provider.

dist_check_SCRIPTS += integration/ofi/other_providers.sh
if BUILD_OFI_PROVIDER
test_programs += integration_ofi_test
TESTS += integration/ofi/other_providers.sh
endif BUILD_OFI_PROVIDER
integration_ofi_test_SOURCES = \
    integration/ofi/names_test.cc \
    integration/ofi/node.cc \
    integration/ofi/node.h \
    integration/ofi/queues_test.cc \
    integration/ofi/transfer_test.cc
integration_ofi_test_CPPFLAGS = $(AM_CPPFLAGS) $(OFI_CPPFLAGS)
integration_ofi_test_LDADD = $(TEST_LIBS) $(OFI_LIBS)
integration_ofi_test_DEPENDENCIES = libtestsupport.la
