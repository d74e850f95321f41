dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_LINUX: Linux on a 64-bit little-endian machine is all that Linnet supports; say so before the first odd error.

AC_DEFUN([LINNET_LINUX], [
    AS_CASE([$host_os], [linux*], [], [AC_MSG_ERROR([Linnet needs Linux, not $host_os])])
    AC_CHECK_HEADERS([linux/if_packet.h linux/if_xdp.h sys/eventfd.h], [], [],
        [[#include <sys/socket.h>]])
    AS_IF([test "$ac_cv_header_linux_if_packet_h" != yes],
        [AC_MSG_ERROR([the kernel headers are missing (Debian: linux-libc-dev)])])
])
