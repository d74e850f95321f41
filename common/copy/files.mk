# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# copy: engines that copy large things

noinst_LTLIBRARIES += liblinnet-copy.la
liblinnet_la_LIBADD += liblinnet-copy.la
liblinnet_copy_la_SOURCES = \
    copy/copy_engine.cc \
    copy/copy_engine.h \
    copy/cpu_copy_engine.h \
    copy/dsa_copy_engine.cc \
    copy/dsa_copy_engine.h \
    copy/dsa_format.h \
    copy/task_copy_engine.cc \
    copy/task_copy_engine.h
