dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_PYTHON: Python 3, for the checks of the tree and the lab tests; never needed to build.

AC_DEFUN([LINNET_PYTHON], [
    AM_PATH_PYTHON([3.9], [linnet_python=yes], [linnet_python=no; PYTHON=:])
    AM_CONDITIONAL([HAVE_PYTHON], [test "$linnet_python" = yes])
    LINNET_REPORT([tree checks and lab tests], [$linnet_python], [python3])
])
