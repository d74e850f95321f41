dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_TOOLS: CLI11 and nlohmann-json, which the programs in tools/ are written with; without them they are not built.

AC_DEFUN([LINNET_TOOLS], [
    AC_ARG_ENABLE([tools], [AS_HELP_STRING([--disable-tools], [do not build linnet-top and linnet-info])], [], [enable_tools=check])
    linnet_tools=no
    AS_IF([test "$enable_tools" = no], [linnet_tools="switched off by --disable-tools"], [
        AC_LANG_PUSH([C++])
        linnet_save_CXXFLAGS=$CXXFLAGS
        CXXFLAGS="$CXXFLAGS $linnet_cv_cxx20"
        AC_CHECK_HEADER([CLI/CLI.hpp], [AC_CHECK_HEADER([nlohmann/json.hpp], [linnet_tools=yes])])
        CXXFLAGS=$linnet_save_CXXFLAGS
        AC_LANG_POP([C++])
    ])
    AS_IF([test "$enable_tools" = yes && test "$linnet_tools" != yes],
        [AC_MSG_ERROR([--enable-tools: CLI11 or nlohmann-json is missing (Debian: libcli11-dev nlohmann-json3-dev)])])
    AM_CONDITIONAL([HAVE_TOOL_HEADERS], [test "$linnet_tools" = yes])
    LINNET_REPORT([linnet-top, linnet-info], [$linnet_tools], [libcli11-dev nlohmann-json3-dev])
])
