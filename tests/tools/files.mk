# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# tools: linnet-top and linnet-info, their parts and the whole of them

dist_check_SCRIPTS += tools/linnet_top_test tools/linnet_info_test
if HAVE_TOOL_HEADERS
test_programs += tools_view_test
single_threaded_programs += tools_view_test
tools_view_test_SOURCES = tools/top_view_test.cc
tools_view_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_view_test_LDADD = $(top_builddir)/tools/libtop.la $(TEST_LIBS) $(libs_stats) $(libs_sys) $(libs_conf)

test_programs += tools_info_test
single_threaded_programs += tools_info_test
tools_info_test_SOURCES = tools/advice_test.cc tools/info_view_test.cc
tools_info_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_info_test_LDADD = $(top_builddir)/tools/libinfo.la $(TEST_LIBS) $(libs_capi)

check_PROGRAMS += tools_page_process
tools_page_process_SOURCES = tools/page_process.cc
tools_page_process_LDADD = $(libs_stats) $(libs_sys)
if HAVE_PYTHON
TESTS += tools/linnet_top_test tools/linnet_info_test
endif HAVE_PYTHON
endif HAVE_TOOL_HEADERS
