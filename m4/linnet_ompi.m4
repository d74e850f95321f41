dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_OMPI: Open MPI with its internal headers, for the MTL component; and mpicc and mpirun for tests and benchmarks.

dnl Sets
dnl   BUILD_OMPI_MTL     conditional: build the component mca_mtl_linnet.so
dnl   HAVE_OMPI          conditional: Open MPI's mpicc and mpirun work, whether or not the component can be built
dnl   OMPI_CPPFLAGS      internal headers        OMPI_VERSION, OMPI_MAJOR   of the installed Open MPI
dnl   OMPI_CFLAGS        what their inline functions need
dnl   OMPI_MPICC, OMPI_MPIRUN                    its commands
dnl   MPI_CPPFLAGS, MPI_LIBS                     what its mpicc adds, for MPI programs built with our own compiler
dnl   ompimcadir         where the component is installed: $(libdir)/openmpi, or --with-ompi-plugindir
AC_DEFUN([LINNET_OMPI], [
    AC_ARG_WITH([ompi],
        [AS_HELP_STRING([--with-ompi=PREFIX], [Open MPI to build the MTL for (default: the ompi_info in PATH; no: do not)])],
        [], [with_ompi=check])
    AC_ARG_WITH([ompi-plugindir],
        [AS_HELP_STRING([--with-ompi-plugindir=DIR],
            [where to install the MTL: a directory, or auto for the component directory of that Open MPI
             (default: LIBDIR/openmpi)])],
        [], [with_ompi_plugindir=no])

    linnet_mtl=yes
    OMPI_CPPFLAGS= OMPI_CFLAGS= OMPI_VERSION= OMPI_MAJOR=0 OMPI_INFO= OMPI_MPICC= OMPI_MPIRUN= MPI_CPPFLAGS= MPI_LIBS=
    AS_CASE([$with_ompi],
        [no], [linnet_mtl="switched off by --without-ompi"],
        [check|yes], [linnet_ompi_path=$PATH],
        [linnet_ompi_path=$with_ompi/bin])
    AS_IF([test "$with_ompi" != no], [
        AC_PATH_PROG([OMPI_INFO], [ompi_info], [], [$linnet_ompi_path])
        AC_PATH_PROGS([OMPI_MPICC], [mpicc.openmpi mpicc], [], [$linnet_ompi_path])
        AC_PATH_PROGS([OMPI_MPIRUN], [mpirun.openmpi mpirun], [], [$linnet_ompi_path])
        dnl /usr/bin/mpicc may be another MPI's.
        AS_IF([test -n "$OMPI_MPICC" && $OMPI_MPICC --showme:version 2>&1 | grep "Open MPI\|OpenRTE" >/dev/null], [],
            [OMPI_MPICC=])
        AS_IF([test -n "$OMPI_MPIRUN" && $OMPI_MPIRUN --version 2>&1 | grep "Open MPI\|OpenRTE" >/dev/null], [],
            [OMPI_MPIRUN=])
        AS_IF([test -z "$OMPI_INFO"], [linnet_mtl=no], [LINNET_OMPI_HEADERS])
    ])

    AS_CASE([$with_ompi_plugindir],
        [no], [ompimcadir='${libdir}/openmpi'],
        [auto|yes], [
            AS_IF([test "$linnet_mtl" = yes], [],
                [AC_MSG_ERROR([--with-ompi-plugindir=auto needs Open MPI (Debian: libopenmpi-dev openmpi-bin)])])
            ompimcadir=`$OMPI_INFO --parsable --path pkglibdir | sed -n 's/^path:pkglibdir://p' | head -n 1`],
        [ompimcadir=$with_ompi_plugindir])
    AC_SUBST([ompimcadir])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([OMPI_CFLAGS])
    AC_SUBST([OMPI_VERSION])
    AC_SUBST([OMPI_MAJOR])
    AS_IF([test -n "$OMPI_MPICC" && test -n "$OMPI_MPIRUN"],
        [linnet_have_ompi=yes
         MPI_CPPFLAGS=`$OMPI_MPICC --showme:compile`
         MPI_LIBS=`$OMPI_MPICC --showme:link`],
        [linnet_have_ompi=no])
    AS_IF([test "$with_ompi" = no], [linnet_have_ompi=$linnet_mtl])
    AC_SUBST([MPI_CPPFLAGS])
    AC_SUBST([MPI_LIBS])
    AM_CONDITIONAL([HAVE_OMPI], [test "$linnet_have_ompi" = yes])
    AM_CONDITIONAL([BUILD_OMPI_MTL], [test "$linnet_mtl" = yes])
    AS_IF([test "$with_ompi" = yes && test "$linnet_mtl" != yes],
        [AC_MSG_ERROR([--with-ompi: Open MPI with internal headers is missing (Debian: libopenmpi-dev openmpi-bin)])])
    LINNET_REPORT([Open MPI component (MTL)], [$linnet_mtl], [openmpi-bin libopenmpi-dev])
    LINNET_REPORT([MPI tests and benchmarks], [$linnet_have_ompi], [openmpi-bin libopenmpi-dev])
])

dnl The component is compiled against Open MPI's own headers, which an installation has only when it was configured
dnl --with-devel-headers (Debian's is), and for the structures of one major version.
AC_DEFUN([LINNET_OMPI_HEADERS], [
    linnet_ompi_include=`$OMPI_INFO --parsable --path pkgincludedir | sed -n 's/^path:pkgincludedir://p' | head -n 1`
    linnet_ompi_parent=`dirname "$linnet_ompi_include"`
    OMPI_VERSION=`$OMPI_INFO --version | sed -n 's/^Open MPI v//p'`
    OMPI_MAJOR=`echo "$OMPI_VERSION" | sed 's/\..*//'`
    OMPI_CPPFLAGS="-isystem $linnet_ompi_include -isystem $linnet_ompi_parent"
    linnet_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"
    AC_MSG_CHECKING([for the internal headers of Open MPI $OMPI_VERSION])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
        #include "ompi_config.h"
        #include "ompi/mca/mtl/mtl.h"
        #if OPAL_ENABLE_DEBUG || OPAL_ENABLE_HETEROGENEOUS_SUPPORT
        #error structure layouts differ in this build
        #endif
    ]], [[
        mca_mtl_base_module_t module;
        (void) module;
    ]])], [AC_MSG_RESULT([$linnet_ompi_include])],
        [AC_MSG_RESULT([no])
         linnet_mtl=no])
    CPPFLAGS=$linnet_save_CPPFLAGS
    AS_IF([test "$linnet_mtl" = yes], [LINNET_OMPI_INT128])
    AS_IF([test "$linnet_mtl" = yes && test "$OMPI_MAJOR" != 4 && test "$OMPI_MAJOR" != 5],
        [linnet_mtl="written for Open MPI 4.1 and 5.0, found $OMPI_VERSION"])
])

dnl Its free lists swap 16 bytes at once, inline; without the flag that Open MPI was built with, the compiler calls a function which does not exist.
AC_DEFUN([LINNET_OMPI_INT128], [
    AC_MSG_CHECKING([for the flag of a 16-byte compare and swap])
    linnet_save_CPPFLAGS=$CPPFLAGS
    linnet_save_CFLAGS=$CFLAGS
    linnet_int128=unavailable
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"
    for linnet_flag in "" -mcx16; do
        CFLAGS="$linnet_save_CFLAGS $linnet_flag"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[
            #include "opal_config.h"
            #if OPAL_HAVE_SYNC_BUILTIN_CSWAP_INT128
            __int128 value;
            #else
            long value;
            #endif
        ]], [[return !__sync_bool_compare_and_swap(&value, 0, 1);]])],
            [linnet_int128=${linnet_flag:-none}
             OMPI_CFLAGS=$linnet_flag
             break])
    done
    CPPFLAGS=$linnet_save_CPPFLAGS
    CFLAGS=$linnet_save_CFLAGS
    AC_MSG_RESULT([$linnet_int128])
    AS_IF([test "$linnet_int128" = unavailable], [linnet_mtl="the compiler lacks a 16-byte compare and swap"])
])
