dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_GTEST: GoogleTest, compiled, for the tests written in C++.

AC_DEFUN([LINNET_GTEST], [
    AC_LANG_PUSH([C++])
    linnet_save_CXXFLAGS=$CXXFLAGS
    linnet_save_LIBS=$LIBS
    CXXFLAGS="$CXXFLAGS $linnet_cv_cxx20 -pthread"
    LIBS="-lgtest $LIBS"
    AC_CACHE_CHECK([for GoogleTest], [linnet_cv_gtest], [
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <gtest/gtest.h>]], [[return RUN_ALL_TESTS();]])],
            [linnet_cv_gtest=yes], [linnet_cv_gtest=no])
    ])
    CXXFLAGS=$linnet_save_CXXFLAGS
    LIBS=$linnet_save_LIBS
    AC_LANG_POP([C++])
    AC_SUBST([GTEST_LIBS], [-lgtest])
    AM_CONDITIONAL([HAVE_GTEST], [test "$linnet_cv_gtest" = yes])
    LINNET_REPORT([C++ tests], [$linnet_cv_gtest], [libgtest-dev])
])
