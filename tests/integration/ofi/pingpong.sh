#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# libfabric's own fi_info and fi_pingpong over the provider, client and server on two hosts of a lab. Needs root.
set -u
export FI_PROVIDER_PATH="${top_builddir:?}/ofi_provider/.libs" FI_PROVIDER=linnet
[ -e "$FI_PROVIDER_PATH/liblinnet-fi.so" ] || { echo "the libfabric provider is not in this build"; exit 77; }
for program in fi_info fi_pingpong; do
    command -v $program >/dev/null || { echo "$program is not there (libfabric-bin)"; exit 77; }
done
fail() {
    echo "FAIL: $1"
    exit 1
}

fi_info -p linnet >"fi_info.$$" || fail "fi_info"
grep -q 'provider: linnet' "fi_info.$$" && grep -q 'type: FI_EP_RDM' "fi_info.$$" || fail "fi_info says: $(cat "fi_info.$$")"
fi_info -p linnet -e | grep -q FI_LINNET_TRANSPORTS || fail "the settings are not among the parameters that fi_info -e shows"
FI_LINNET_TRANSPORT=tcp fi_info -p linnet 2>&1 | grep -q 'unknown variable FI_LINNET_TRANSPORT ignored' || fail "a parameter that there is not is not told"
rm -f "fi_info.$$"

lab=${top_srcdir:?}/tests/lab/lab
name=pp$$
server=
trap 'kill $server 2>/dev/null; "$lab" down -n "$name"; rm -f "pingpong.$$" "fi_info.$$"' EXIT
trap 'exit 1' INT TERM
"$lab" up -n "$name" --hosts 2 --topology veth || exit $?
to=$("$lab" exec -n "$name" h0 -- ip -4 -o addr show eth0 | sed 's/.* inet \([0-9.]*\).*/\1/')
received() { "$lab" exec -n "$name" h0 -- sed -n 's/^ *eth0: *\([0-9]*\) .*/\1/p' /proc/net/dev; }

# over TRANSPORTS MODE: rows of every size, checked byte by byte, that crossed the cable.
over() {
    export FI_LINNET_TRANSPORTS="$1"
    before=$(received)
    timeout 50 "$lab" exec -n "$name" h0 -- fi_pingpong -e rdm -m "$2" -c -I 20 -p linnet >/dev/null 2>&1 &
    server=$!
    tries=0
    until "$lab" exec -n "$name" h0 -- ss -Htln | grep -q ':47592 '; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "the server does not listen"
        sleep 0.1
    done
    FI_LINNET_LOG_LEVEL=info timeout 50 "$lab" exec -n "$name" h1 -- fi_pingpong -e rdm -m "$2" -c -I 20 -p linnet "$to" >"pingpong.$$" 2>&1 ||
        fail "the client over $1, $2: $(cat "pingpong.$$")"
    wait $server || fail "the server over $1, $2"
    rows=$(grep -c '^[0-9]' "pingpong.$$")
    crossed=$(($(received) - before))
    # 64 bytes to 1 MiB, 20 times
    [ "$rows" -ge 6 ] && grep -q '^1m ' "pingpong.$$" || fail "over $1, $2 the client says: $(cat "pingpong.$$")"
    grep -q 'linnet: interface eth0 .*: used' "pingpong.$$" || fail "FI_LINNET_LOG_LEVEL=info changes nothing: $(cat "pingpong.$$")"
    [ $crossed -gt 20000000 ] || fail "over $1, $2 only $crossed bytes crossed the cable"
    echo "ok: $2 over $1: $rows sizes, $crossed bytes"
}
for transports in tcp udp; do
    over $transports msg
    over $transports tagged
done
