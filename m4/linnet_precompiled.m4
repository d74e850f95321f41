dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_PRECOMPILED: --enable-precompiled parses the standard headers of the core once (build/precompiled.mk).

dnl Off by default: a build of the library as it is installed shows whether each source includes what it uses.
AC_DEFUN([LINNET_PRECOMPILED], [
    AC_ARG_ENABLE([precompiled],
        [AS_HELP_STRING([--enable-precompiled], [precompile the standard headers of the core (for developers and CI)])],
        [], [enable_precompiled=no])
    AM_CONDITIONAL([PRECOMPILED], [test "$enable_precompiled" != no])
    dnl clang else makes what templates of the headers become again for each source: a quarter of its time for the tests.
    AC_LANG_PUSH([C++])
    AC_CACHE_CHECK([whether $CXX takes -fpch-instantiate-templates], [linnet_cv_pch_templates], [
        linnet_save_CXXFLAGS=$CXXFLAGS
        CXXFLAGS="$CXXFLAGS -Werror -fpch-instantiate-templates"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [linnet_cv_pch_templates=yes], [linnet_cv_pch_templates=no])
        CXXFLAGS=$linnet_save_CXXFLAGS
    ])
    AC_LANG_POP([C++])
    AS_IF([test "$linnet_cv_pch_templates" = yes], [PCH_CXXFLAGS=-fpch-instantiate-templates])
    AC_SUBST([PCH_CXXFLAGS])
])
