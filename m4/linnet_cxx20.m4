dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 the Linnet authors
dnl LINNET_CXX20: a C++20 compiler and library with the features that the core uses; sets the language flag.

AC_DEFUN([LINNET_CXX20], [
    AC_LANG_PUSH([C++])
    AC_CACHE_CHECK([for the flag that selects C++20], [linnet_cv_cxx20], [
        linnet_cv_cxx20=none
        linnet_save_CXXFLAGS=$CXXFLAGS
        for flag in -std=c++20 -std=c++2a; do
            CXXFLAGS="$linnet_save_CXXFLAGS $flag"
            AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
                #include <bit>
                #include <concepts>
                #include <cstdint>
                #include <span>
                #include <thread>
                template <std::unsigned_integral T> constexpr T id(T v) { return std::bit_cast<T>(v); }
                enum class Colour { red };
            ]], [[
                using enum Colour;
                std::uint32_t words[2] = {id(1u), static_cast<std::uint32_t>(red)};
                std::span<const std::uint32_t> view{words};
                std::jthread thread{[] {}};
                return view.size() == 2 ? 0 : 1;
            ]])], [linnet_cv_cxx20=$flag; break])
        done
        CXXFLAGS=$linnet_save_CXXFLAGS
    ])
    AC_LANG_POP([C++])
    AS_IF([test "$linnet_cv_cxx20" = none],
        [AC_MSG_ERROR([$CXX does not compile C++20; g++ 12 or clang++ 14 and newer do (Debian: g++ or clang)])])
    LINNET_CXXFLAGS="$linnet_cv_cxx20 -pthread -fvisibility=hidden -fvisibility-inlines-hidden"
    LINNET_CFLAGS="-std=gnu11 -pthread -fvisibility=hidden"
    LINNET_CPPFLAGS="-D_GNU_SOURCE"
    LINNET_LDFLAGS="-pthread"
    AC_SUBST([LINNET_CXXFLAGS])
    AC_SUBST([LINNET_CFLAGS])
    AC_SUBST([LINNET_CPPFLAGS])
    AC_SUBST([LINNET_LDFLAGS])
])
