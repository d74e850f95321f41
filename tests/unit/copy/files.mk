# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of common/copy: one suite over every engine, and what is particular to each

test_programs += unit_copy_test
unit_copy_test_SOURCES = \
    unit/copy/copy_engine_test.cc \
    unit/copy/dsa_copy_engine_test.cc \
    unit/copy/dsa_emulator.cc \
    unit/copy/dsa_emulator.h \
    unit/copy/task_copy_engine_test.cc
unit_copy_test_LDADD = $(TEST_LIBS) $(libs_copy)
seeded_programs += unit_copy_test
