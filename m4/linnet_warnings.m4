dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_WARNINGS: the warnings that our own code is free of; --enable-werror makes them errors.

AC_DEFUN([LINNET_WARNINGS], [
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat warnings as errors (for developers and CI)])],
        [], [enable_werror=no])
    linnet_warnings="-Wall -Wextra -Wshadow -Wconversion -Wundef"
    AS_IF([test "$enable_werror" != no], [linnet_warnings="$linnet_warnings -Werror"])
    LINNET_CXXFLAGS="$LINNET_CXXFLAGS $linnet_warnings -Wnon-virtual-dtor"
    LINNET_CFLAGS="$LINNET_CFLAGS $linnet_warnings"
])
