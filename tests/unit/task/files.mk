# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of common/task

test_programs += unit_task_test
unit_task_test_SOURCES = \
    unit/task/idle_helpers_test.cc \
    unit/task/task_tree_test.cc
unit_task_test_LDADD = $(TEST_LIBS) $(libs_task)
