# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of capi: the boundary between C and the core. (The interface as hosts use it: integration/waist.)

test_programs += unit_capi_test
unit_capi_test_SOURCES = \
    unit/capi/arguments_test.cc \
    unit/capi/boundary_test.cc \
    unit/capi/quiet_context.h
unit_capi_test_LDADD = $(TEST_LIBS) $(libs_capi)

# It brings operators new and delete of its own, as ThreadSanitizer does.
test_programs += unit_capi_memory_test
single_threaded_programs += unit_capi_memory_test
unit_capi_memory_test_SOURCES = \
    support/heap.cc \
    support/heap.h \
    unit/capi/memory_test.cc \
    unit/capi/quiet_context.h
unit_capi_memory_test_LDADD = $(TEST_LIBS) $(libs_capi)
