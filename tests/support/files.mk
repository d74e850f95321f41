# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# support: what every C++ test program links: main() with its guards, seeds, a log that complains

check_LTLIBRARIES += libtestsupport.la
libtestsupport_la_SOURCES = \
    support/eventually.h \
    support/guards.cc \
    support/guards.h \
    support/main.cc \
    support/pace.h \
    support/patience.h \
    support/pattern.cc \
    support/pattern.h \
    support/pch.h \
    support/seed.cc \
    support/seed.h \
    support/test_log.cc \
    support/test_log.h \
    support/thread_state.h \
    support/watchdog.cc \
    support/watchdog.h
# Without the header below: libtool compiles for a shared library, which clang does not take for the same options.
libtestsupport_la_CXXFLAGS = $(LINNET_CXXFLAGS)
TEST_LIBS = libtestsupport.la $(GTEST_LIBS)

# A program whose every case breaks a rule, and the script that sees each one caught.
check_PROGRAMS += support_offender
support_offender_SOURCES = support/offender.cc
support_offender_LDADD = $(TEST_LIBS) $(libs_base)
dist_check_SCRIPTS += support/selftest
TESTS += support/selftest
EXTRA_DIST += support/tsan.supp

precompiled = support/pch.h
precompiled_flags =
include $(top_srcdir)/build/precompiled.mk
