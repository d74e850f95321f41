dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_OFI: libfabric with the headers for providers, for liblinnet-fi.so.

dnl Sets
dnl   BUILD_OFI_PROVIDER     conditional: build the provider
dnl   OFI_CPPFLAGS, OFI_LIBS of libfabric
dnl   ofiprovdir             where the provider is installed: $(libdir)/libfabric, or --with-libfabric-dir
AC_DEFUN([LINNET_OFI], [
    AC_ARG_WITH([libfabric],
        [AS_HELP_STRING([--with-libfabric=PREFIX], [libfabric to build the provider for (default: the system's; no: do not)])],
        [], [with_libfabric=check])
    AC_ARG_WITH([libfabric-dir],
        [AS_HELP_STRING([--with-libfabric-dir=DIR],
            [where to install the provider: a directory, or auto for the one in which that libfabric looks
             (default: LIBDIR/libfabric)])],
        [], [with_libfabric_dir=no])
    linnet_ofi=yes
    OFI_CPPFLAGS= OFI_LIBS=-lfabric
    AS_CASE([$with_libfabric],
        [no], [linnet_ofi="switched off by --without-libfabric"],
        [check|yes], [],
        [OFI_CPPFLAGS="-isystem $with_libfabric/include"
         OFI_LIBS="-L$with_libfabric/lib -lfabric"])
    AS_IF([test "$linnet_ofi" = yes], [LINNET_OFI_HEADERS])
    AS_IF([test "$with_libfabric" != check && test "$with_libfabric" != no && test "$linnet_ofi" != yes],
        [AC_MSG_ERROR([--with-libfabric: libfabric 1.17 with its headers is missing (Debian: libfabric-dev): $linnet_ofi])])
    AS_CASE([$with_libfabric_dir],
        [no], [ofiprovdir='${libdir}/libfabric'],
        [auto|yes], [
            AS_IF([test "$linnet_ofi" = yes], [],
                [AC_MSG_ERROR([--with-libfabric-dir=auto needs libfabric (Debian: libfabric-dev)])])
            LINNET_OFI_DIR
            ofiprovdir=$linnet_ofi_dir],
        [ofiprovdir=$with_libfabric_dir])
    AC_SUBST([OFI_CPPFLAGS])
    AC_SUBST([OFI_LIBS])
    AC_SUBST([ofiprovdir])
    AM_CONDITIONAL([BUILD_OFI_PROVIDER], [test "$linnet_ofi" = yes])
    LINNET_REPORT([libfabric provider], [$linnet_ofi], [libfabric-dev])
])

dnl The provider is written for the structures of 1.17; a later minor release only adds to them.
AC_DEFUN([LINNET_OFI_HEADERS], [
    linnet_save_CPPFLAGS=$CPPFLAGS
    linnet_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $OFI_CPPFLAGS"
    LIBS="$OFI_LIBS $LIBS"
    AC_MSG_CHECKING([for libfabric with the headers of providers])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #include <rdma/fabric.h>
        #include <rdma/fi_domain.h>
        #include <rdma/providers/fi_prov.h>
        #include <rdma/providers/fi_log.h>
        #if FI_MAJOR_VERSION != 1 || FI_MINOR_VERSION < 17
        #error older
        #endif
    ]], [[
        struct fi_provider p = {0};
        return fi_log_enabled(&p, FI_LOG_WARN, FI_LOG_CORE) + fi_param_get(&p, "x", 0);
    ]])], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         linnet_ofi=no])
    CPPFLAGS=$linnet_save_CPPFLAGS
    LIBS=$linnet_save_LIBS
])

dnl libfabric tells its default in the text of the parameter that overrides it.
AC_DEFUN([LINNET_OFI_DIR], [
    AC_PATH_PROG([FI_INFO], [fi_info], [], [$PATH])
    AC_MSG_CHECKING([where libfabric looks for providers])
    linnet_ofi_dir=
    AS_IF([test -n "$FI_INFO"],
        [linnet_ofi_dir=`$FI_INFO -e 2>/dev/null | sed -n 's|.*discovery order.*(default: *\(/@<:@^)@:>@*\)).*|\1|p' | head -n 1`])
    AC_MSG_RESULT([${linnet_ofi_dir:-unknown}])
    AS_IF([test -z "$linnet_ofi_dir"],
        [AC_MSG_ERROR([--with-libfabric-dir=auto: fi_info (Debian: libfabric-bin) does not tell; name the directory])])
])
