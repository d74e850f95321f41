dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_HWLOC: hwloc, for queues laid over cores, caches and NUMA nodes; without it the machine is one flat set of cores.

AC_DEFUN([LINNET_HWLOC], [
    AC_ARG_WITH([hwloc], [AS_HELP_STRING([--without-hwloc], [do not read the machine's topology with hwloc])],
        [], [with_hwloc=check])
    linnet_hwloc=no
    linnet_save_LIBS=$LIBS
    AS_IF([test "$with_hwloc" = no], [linnet_hwloc="switched off by --without-hwloc"], [
        AC_CHECK_HEADER([hwloc.h], [AC_CHECK_LIB([hwloc], [hwloc_topology_init], [linnet_hwloc=yes])])
    ])
    LIBS=$linnet_save_LIBS
    AS_IF([test "$with_hwloc" = yes && test "$linnet_hwloc" != yes],
        [AC_MSG_ERROR([--with-hwloc: hwloc is missing (Debian: libhwloc-dev)])])
    AS_IF([test "$linnet_hwloc" = yes],
        [HWLOC_LIBS=-lhwloc; linnet_have_hwloc=1], [HWLOC_LIBS=; linnet_have_hwloc=0])
    AC_SUBST([HWLOC_LIBS])
    LINNET_CPPFLAGS="$LINNET_CPPFLAGS -DLINNET_HAVE_HWLOC=$linnet_have_hwloc"
    AM_CONDITIONAL([HAVE_HWLOC], [test "$linnet_hwloc" = yes])
    LINNET_REPORT([machine topology (hwloc)], [$linnet_hwloc], [libhwloc-dev])
])
