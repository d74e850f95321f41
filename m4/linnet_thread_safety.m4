dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_THREAD_SAFETY: clang's analysis of the lock and thread-role annotations; --enable-thread-safety makes it binding.

AC_DEFUN([LINNET_THREAD_SAFETY], [
    AC_ARG_ENABLE([thread-safety],
        [AS_HELP_STRING([--enable-thread-safety], [fail on a violated thread annotation (needs CXX=clang++)])],
        [], [enable_thread_safety=no])
    AS_IF([test "$enable_thread_safety" != no], [
        AC_LANG_PUSH([C++])
        linnet_save_CXXFLAGS=$CXXFLAGS
        CXXFLAGS="$CXXFLAGS -Werror -Wthread-safety"
        AC_MSG_CHECKING([whether $CXX analyses thread annotations])
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([--enable-thread-safety needs CXX=clang++ (Debian: clang)])])
        CXXFLAGS=$linnet_save_CXXFLAGS
        AC_LANG_POP([C++])
        LINNET_CXXFLAGS="$LINNET_CXXFLAGS -Wthread-safety -Werror=thread-safety"
    ])
])
