dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_SANITIZER: --enable-sanitizer=LIST, the short forms --enable-asan, --enable-ubsan, --enable-tsan, and --enable-fuzzer.

AC_DEFUN([LINNET_SANITIZER], [
    AC_ARG_ENABLE([sanitizer],
        [AS_HELP_STRING([--enable-sanitizer=LIST], [compile with -fsanitize=LIST, for example address,undefined])],
        [], [enable_sanitizer=no])
    AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [AddressSanitizer])], [], [enable_asan=no])
    AC_ARG_ENABLE([ubsan], [AS_HELP_STRING([--enable-ubsan], [UndefinedBehaviorSanitizer])], [], [enable_ubsan=no])
    AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [ThreadSanitizer])], [], [enable_tsan=no])
    AS_IF([test "$enable_sanitizer" = yes], [enable_sanitizer=address,undefined])
    AS_IF([test "$enable_sanitizer" = no], [linnet_sanitizers=], [linnet_sanitizers=$enable_sanitizer])
    AS_IF([test "$enable_asan" != no], [linnet_sanitizers="$linnet_sanitizers${linnet_sanitizers:+,}address"])
    AS_IF([test "$enable_ubsan" != no], [linnet_sanitizers="$linnet_sanitizers${linnet_sanitizers:+,}undefined"])
    AS_IF([test "$enable_tsan" != no], [linnet_sanitizers="$linnet_sanitizers${linnet_sanitizers:+,}thread"])
    AC_ARG_ENABLE([fuzzer],
        [AS_HELP_STRING([--enable-fuzzer], [with clang: AddressSanitizer, UndefinedBehaviorSanitizer, and tests/fuzz_driver for libFuzzer])],
        [], [enable_fuzzer=no])
    AS_IF([test "$enable_fuzzer" != no], [linnet_sanitizers="fuzzer-no-link,address,undefined"])
    AM_CONDITIONAL([FUZZER], [test "$enable_fuzzer" != no])
    AS_IF([test -n "$linnet_sanitizers"], [
        linnet_flags="-fsanitize=$linnet_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=all"
        dnl The checks add paths on which a pointer is null, and GCC 12 warns of what would be written there.
        AS_CASE([$CXX], [*clang*], [], [linnet_flags="$linnet_flags -Wno-stringop-overflow"])
        linnet_save_CXXFLAGS=$CXXFLAGS
        CXXFLAGS="$CXXFLAGS $linnet_flags"
        AC_LANG_PUSH([C++])
        AC_MSG_CHECKING([whether $CXX links with -fsanitize=$linnet_sanitizers])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([$CXX cannot link with -fsanitize=$linnet_sanitizers])])
        AC_LANG_POP([C++])
        CXXFLAGS=$linnet_save_CXXFLAGS
        LINNET_CXXFLAGS="$LINNET_CXXFLAGS $linnet_flags"
        LINNET_CFLAGS="$LINNET_CFLAGS $linnet_flags"
        LINNET_LDFLAGS="$LINNET_LDFLAGS -fsanitize=$linnet_sanitizers"
    ])
    AC_SUBST([LINNET_SANITIZERS], [$linnet_sanitizers])
    AM_CONDITIONAL([SANITIZED], [test -n "$linnet_sanitizers"])
])
