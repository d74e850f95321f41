dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_SUMMARY, LINNET_REPORT: the table at the end of configure: what will be built, and what is missing for the rest.

dnl LINNET_REPORT(what, yes | no | a reason in words, Debian package that brings it)
AC_DEFUN([LINNET_REPORT], [
    AS_CASE(["$2"],
        [yes], [linnet_row=`printf '  %-28s yes' "$1"`],
        [no], [linnet_row=`printf '  %-28s no   (missing: apt-get install %s)' "$1" "$3"`],
        [linnet_row=`printf '  %-28s no   (%s)' "$1" "$2"`])
    linnet_report="$linnet_report$linnet_row
"
])

AC_DEFUN([LINNET_SUMMARY], [
    echo
    echo "Linnet $PACKAGE_VERSION, to be installed below $prefix"
    echo "  compilers                    $CXX, $CC"
    echo "  sanitizers                   ${linnet_sanitizers:-none}"
    echo "  layers                      ${linnet_present:- none}"
    printf '%s' "$linnet_report"
    echo
])
