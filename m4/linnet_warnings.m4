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
    # With -O3 GCC 12 takes std::string's operator+ of a literal and a temporary for a copy onto itself (GCC bug 105651).
    AC_LANG_PUSH([C++])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if defined __GNUC__ && !defined __clang__ && __GNUC__ == 12
#error
#endif
]])], [], [LINNET_CXXFLAGS="$LINNET_CXXFLAGS -Wno-restrict"])
    AC_LANG_POP([C++])
    LINNET_CFLAGS="$LINNET_CFLAGS $linnet_warnings"
])
