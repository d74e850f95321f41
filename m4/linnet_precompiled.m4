dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_PRECOMPILED: --enable-precompiled parses the standard headers of the core once (build/precompiled.mk).

dnl Off by default: a build of the library as it is installed shows whether each source includes what it uses.
AC_DEFUN([LINNET_PRECOMPILED], [
    AC_ARG_ENABLE([precompiled],
        [AS_HELP_STRING([--enable-precompiled], [precompile the standard headers of the core (for developers and CI)])],
        [], [enable_precompiled=no])
    AM_CONDITIONAL([PRECOMPILED], [test "$enable_precompiled" != no])
])
