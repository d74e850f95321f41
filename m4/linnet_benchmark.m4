dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_BENCHMARK: Google Benchmark, for the micro-benchmarks of single layers.

AC_DEFUN([LINNET_BENCHMARK], [
    AC_LANG_PUSH([C++])
    linnet_save_CXXFLAGS=$CXXFLAGS
    linnet_save_LIBS=$LIBS
    CXXFLAGS="$CXXFLAGS $linnet_cv_cxx20 -pthread"
    LIBS="-lbenchmark $LIBS"
    AC_CACHE_CHECK([for Google Benchmark], [linnet_cv_benchmark], [
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <benchmark/benchmark.h>]], [[benchmark::RunSpecifiedBenchmarks();]])],
            [linnet_cv_benchmark=yes], [linnet_cv_benchmark=no])
    ])
    CXXFLAGS=$linnet_save_CXXFLAGS
    LIBS=$linnet_save_LIBS
    AC_LANG_POP([C++])
    AC_SUBST([BENCHMARK_LIBS], ["-lbenchmark -pthread"])
    AM_CONDITIONAL([HAVE_BENCHMARK], [test "$linnet_cv_benchmark" = yes])
    LINNET_REPORT([benchmarks of layers], [$linnet_cv_benchmark], [libbenchmark-dev])
])
