#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What `make install` puts where: all of it, nothing else, and the same below a DESTDIR, from which `make uninstall` takes all of it away again. A C program
# that asks pkg-config how to use the library compiles and runs. Part of `make installcheck`.
# shellcheck disable=SC1091,SC2154  # words of the file that config.status makes
set -u
for tool in pkg-config ldd; do
    command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
done
unset MAKEFLAGS MFLAGS MAKELEVEL    # of the `make installcheck` that runs this
work=$(mktemp -d /tmp/linnet-installed.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
log=$work/log dest=$work/dest
fail() {
    [ ! -e "$log" ] || tail -n 20 "$log"
    echo "FAIL: $*"
    exit 1
}
cd "${top_builddir:?}" || exit 1
# Where things go, as this build is configured.
cat >"$work/folders.in" <<'EOT'
prefix='@prefix@' exec_prefix="@exec_prefix@" datarootdir="@datarootdir@" PACKAGE_TARNAME='@PACKAGE_TARNAME@'
bindir="@bindir@" libdir="@libdir@" includedir="@includedir@" mandir="@mandir@" docdir="@docdir@" version='@PACKAGE_VERSION@'
EOT
./config.status -q --file="$work/folders:$work/folders.in" || fail "config.status"
. "$work/folders"

# A row per file: the name, and where it is. What was not built is not installed.
{
    for name in linnet.h linnet_rma.h linnet_watch.h; do echo "$includedir/linnet/$name"; done
    for name in liblinnet.la liblinnet.so liblinnet.so.0 liblinnet.so.0.0.0 pkgconfig/linnet.pc; do echo "$libdir/$name"; done
    for name in README.md LICENSE; do echo "$docdir/$name"; done
    (cd "${top_srcdir:?}" && find docs mpich_netmod -name '*.md') | sed "s|^|$docdir/|"
    echo "$mandir/man7/linnet.7"
    [ ! -e ompi_mtl/mca_mtl_linnet.la ] || echo "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so"
    if [ -e ofi_provider/liblinnet-fi.la ]; then
        echo "${LINNET_TEST_OFI_DIR:?}/liblinnet-fi.so"
        echo "$mandir/man7/fi_linnet.7"
    fi
    for tool in linnet-top linnet-info; do
        [ ! -e "tools/$tool" ] || printf '%s\n' "$bindir/$tool" "$mandir/man1/$tool.1"
    done
} | sort >"$work/wanted"

make install DESTDIR="$dest" >"$log" 2>&1 || fail "make install DESTDIR=$dest"
(cd "$dest" && find . ! -type d) | sed 's/^\.//' | sort >"$work/found"
diff "$work/wanted" "$work/found" || fail "make install DESTDIR= put other files there (>) than it should (<)"
while read -r file; do
    [ -e "$file" ] || fail "make install did not put $file there"
    [ -s "$dest$file" ] || fail "$file is empty, or a link to nothing"
done <"$work/wanted"
[ ! -e "$bindir/linnet-info" ] || "$bindir/linnet-info" --help >"$log" 2>&1 || fail "the installed linnet-info does not run"

# Folders of our own go too, if they are not on the way to the prefix (as linnet-VERSION in distcheck); and the prefix, of which DESTDIR is none, keeps what it has.
make uninstall DESTDIR="$dest" >"$log" 2>&1 || fail "make uninstall"
left=$(cd "$dest" && find . ! -type d -o -iname '*linnet*' | sed 's/^\.//' | prefix=$prefix awk 'index(ENVIRON["prefix"] "/", $0 "/") != 1')
[ -z "$left" ] || fail "make uninstall left $left"
while read -r file; do
    [ -e "$file" ] || fail "make uninstall DESTDIR=$dest took $file away"
done <"$work/wanted"

cat >"$work/user.c" <<'EOT'
#include <linnet/linnet.h>
#include <linnet/linnet_rma.h>
#include <linnet/linnet_watch.h>
#include <stdio.h>
int main(void) { return puts(linnet_version_text()) < 0; }
EOT
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion linnet)" = "$version" ] || fail "pkg-config says version $(pkg-config --modversion linnet 2>&1)"
# shellcheck disable=SC2046,SC2086  # each of several words, or none
${CC:-cc} -Wall -Wextra -Werror -o "$work/user" "$work/user.c" $(pkg-config --cflags --libs linnet) ${LINNET_TEST_LDFLAGS:-} >"$log" 2>&1 ||
    fail "a program does not compile with $(pkg-config --cflags --libs linnet)"
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH
ldd "$work/user" | grep -qF "$libdir/liblinnet.so.0 " || fail "the program does not load $libdir/liblinnet.so.0"
said=$("$work/user" 2>"$log") || fail "the program ended with $?"
[ "$said" = "$version" ] || fail "the program says version '$said', not $version"
echo "$(wc -l <"$work/wanted") files, and a program that uses them"
