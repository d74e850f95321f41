# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# conf: the table of settings

noinst_LTLIBRARIES += liblinnet-conf.la
liblinnet_la_LIBADD += liblinnet-conf.la
liblinnet_conf_la_SOURCES = \
    conf/setting_parse.cc \
    conf/setting_parse.h \
    conf/setting_table.h \
    conf/settings.cc \
    conf/settings.h
