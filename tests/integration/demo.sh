#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# ./demo on what is built and installed here, between two hosts of a lab and on the loopback interface: every row of its table has a number for both
# stacks, within the three minutes that it promises. Part of ./check --full; needs root.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "not root: no hosts of a lab"; exit 77; }
[ ! "${top_srcdir:?}/configure" -nt "${top_builddir:?}/config.status" ] || { echo "FAIL: configure is newer than this build"; exit 1; }   # demo would configure it
work=$(mktemp -d /tmp/linnet-demo.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
ln -s "$top_builddir" "$work/build" && ln -s "${LINNET_TEST_PREFIX:?}" "$work/prefix" || exit 1
failed=0
# filled ROWS TEXT OPTION...: as many rows with two values each; TEXT must be said.
filled() {
    rows=$1 text=$2
    shift 2
    began=$(date +%s)
    timeout -k 20 180 "$top_srcdir/demo" --dir "$work" "$@" >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    seen=$(sed '1,/TCP BTL *Linnet/d; /^$/,$d' "$work/out" | grep -cE '^  .* {2,}-?[0-9][0-9.,]* [^ ]+ {2,}-?[0-9][0-9.,]* [^ ]+ {2,}')
    echo "demo $*: status $status after $(($(date +%s) - began)) s; $seen rows of $rows"
    [ $status = 0 ] && [ "$seen" = "$rows" ] && grep -q "$text" "$work/out" || { echo "FAIL: demo $*"; failed=1; }
}
filled 9 '^Two hosts:'
filled 6 '^Two ranks on this host' --loopback
exit $failed
