dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_DEBUG: --enable-debug, or any sanitizer, turns the internal assertions on (LINNET_DEBUG is always 0 or 1).

AC_DEFUN([LINNET_DEBUG], [
    AC_REQUIRE([LINNET_SANITIZER])
    AC_ARG_ENABLE([debug],
        [AS_HELP_STRING([--enable-debug], [check internal assertions at run time])],
        [], [enable_debug=no])
    AS_IF([test "$enable_debug" = no && test -z "$linnet_sanitizers"],
        [LINNET_CPPFLAGS="$LINNET_CPPFLAGS -DLINNET_DEBUG=0"],
        [LINNET_CPPFLAGS="$LINNET_CPPFLAGS -DLINNET_DEBUG=1 -D_GLIBCXX_ASSERTIONS"])
])
