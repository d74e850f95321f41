# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# unit tests of conf

test_programs += unit_conf_test
single_threaded_programs += unit_conf_test
unit_conf_test_SOURCES = \
    unit/conf/setting_parse_test.cc \
    unit/conf/setting_table_test.cc \
    unit/conf/settings_test.cc
unit_conf_test_LDADD = $(TEST_LIBS) $(libs_conf)
