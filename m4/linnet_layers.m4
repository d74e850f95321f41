dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_LAYERS: from common/LAYERS, the link set of each layer that exists, for tests and benchmarks.

dnl Defines in every Makefile that holds the line @LINNET_LINK_SETS@, for each layer x:
dnl     libs_x = the layer's library and those of all layers that it may use, dependents first
dnl and libs_all for the whole core. transport/tcp is libs_transport_tcp.
AC_DEFUN([LINNET_LAYERS], [
    LINNET_LINK_SETS=layers.mk
    AC_MSG_CHECKING([for the layers of the core])
    linnet_present=
    for linnet_folder in `$AWK '!/^#/ && NF {print @S|@2}' "$srcdir/common/LAYERS"`; do
        AS_IF([grep "^include .*/$linnet_folder/files.mk" "$srcdir/common/Makefile.am" >/dev/null],
            [linnet_present="$linnet_present $linnet_folder"])
    done
    AC_MSG_RESULT([${linnet_present:-none yet}])
    $AWK -v present="$linnet_present" -f "$srcdir/m4/link_sets.awk" "$srcdir/common/LAYERS" >layers.mk ||
        AC_MSG_ERROR([common/LAYERS cannot be read])
    AC_SUBST_FILE([LINNET_LINK_SETS])
])
