# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# task: queues of work over the machine, and threads on its idle cores

noinst_LTLIBRARIES += liblinnet-task.la
liblinnet_la_LIBADD += liblinnet-task.la
liblinnet_task_la_SOURCES = \
    task/idle_helpers.cc \
    task/idle_helpers.h \
    task/task.h \
    task/task_tree.cc \
    task/task_tree.h
