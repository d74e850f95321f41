#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# MPI programs with the MPICH of mpich_netmod/build-mpich over the installed libfabric provider, its own shared memory off: on this host, and between
# two hosts of a lab. Part of `make installcheck`; needs root.
# LINNET_TEST_MPICH_BUILD, not empty: build that MPICH when it is not there yet, which takes minutes; yes: and run the test suite of MPICH, too.
set -u
provider=${LINNET_TEST_OFI_DIR:?}
[ -e "$provider/liblinnet-fi.so" ] || { echo "the libfabric provider is not in this build"; exit 77; }
cached=--cached
[ -z "${LINNET_TEST_MPICH_BUILD:-}" ] || cached=
# shellcheck disable=SC2086  # one word, or none
mpich=$("${top_srcdir:?}/mpich_netmod/build-mpich" $cached 2>&1) || { status=$?; echo "$mpich"; exit $status; }
mpich=$(echo "$mpich" | tail -n 1)
lab=$top_srcdir/tests/lab/lab
name=mpichofi$$
programs=${top_builddir:?}/tests/mpich/programs
trap '"$lab" down -n "$name"' EXIT
trap 'exit 1' INT TERM
"$lab" up -n "$name" --hosts 2 || exit $?
address() { "$lab" exec -n "$name" "$1" -- ip -4 -o addr show eth0 | sed 's/.* inet \([0-9.]*\).*/\1/'; }
received() { "$lab" exec -n "$name" h0 -- sed -n 's/^ *eth0: *\([0-9]*\) .*/\1/p' /proc/net/dev; }
hosts=$(address h0),$(address h1)
export FI_PROVIDER=linnet FI_PROVIDER_PATH="$provider" MPIR_CVAR_NOLOCAL=1
mkdir -p "$programs"
failed=0
verdict() {
    echo "$1: $2${3:+: $3}"
    [ -z "${LINNET_TEST_RESULTS:-}" ] || printf '%s\tmpich_provider\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$LINNET_TEST_RESULTS/mpich_provider.tsv"
    [ "$1" = pass ] || failed=1
}
# try WHAT PROGRAM COMMAND...: rank 0 says "ok PROGRAM", and that it took this provider.
try() {
    what=$1 program=$2
    shift 2
    log=$programs/$(echo "$what-$program" | tr -c 'A-Za-z0-9\n' -).log
    MPIR_CVAR_DEBUG_SUMMARY=1 timeout -k 5 120 "$@" "$programs/$program" >"$log" 2>&1
    status=$?
    if [ $status != 0 ]; then verdict fail "$program $what" "mpiexec ended with $status, see $log"
    elif ! grep -q "^ok $program" "$log"; then verdict fail "$program $what" "it did not say ok, see $log"
    elif ! grep -q '^provider: linnet,' "$log" || grep '^provider: ' "$log" | grep -qv 'provider: linnet,'; then verdict fail "$program $what" "over another provider, see $log"
    else verdict pass "$program $what"
    fi
}
# Few of them: the test suite of MPICH has the rest.
for program in probes collectives rma; do
    "$mpich/bin/mpicc" -std=gnu11 -O1 -w -o "$programs/$program" "$top_srcdir/tests/integration/mpi/$program.c" -lpthread -lm || verdict fail "$program" "does not compile"
done
try "on this host" probes "$mpich/bin/mpiexec.hydra" -n 2
try "on this host" rma "$mpich/bin/mpiexec.hydra" -n 2
for program in collectives rma; do
    before=$(received)
    try "between hosts" $program "$lab" exec -n "$name" h0 -- "$mpich/bin/mpiexec.hydra" -launcher rsh -launcher-exec "$top_srcdir/tests/lab/agent" -hosts "$hosts" -n 2
    [ $(($(received) - before)) -gt 10000 ] || verdict fail "$program between hosts" "next to nothing crossed the cable"
done
[ "${LINNET_TEST_MPICH_BUILD:-}" != yes ] || "${PYTHON:-python3}" "$top_srcdir/tests/mpich/run_mpich.py" --mpich "$mpich" --provider-dir "$provider" --logs "$programs/logs" \
    ${LINNET_TEST_RESULTS:+--results "$LINNET_TEST_RESULTS/mpich_provider.tsv"} pt2pt coll rma comm datatype threads/pt2pt || failed=1
exit $failed
