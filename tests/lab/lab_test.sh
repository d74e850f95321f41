#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Tests of the lab: each makes its own, and nothing may be left of it. Needs root; exits 77 when every case was skipped.
#
# usage: lab_test.sh [WORD]      only the tests with WORD in their names

here=$(cd "$(dirname "$0")" && pwd)
only=${1:-}
python=$(python3 -c 'import sys; print(sys.executable)')  # not a wrapper, which would double the time of this test
lab() { "$python" -SIB "$here/lab" "$@"; }
base=t$$
scratch=$(mktemp -d)
chmod 755 "$scratch"
export LINNET_LAB_RUN=$scratch/run  # so that other labs on the machine are out of reach
passed=0 failed=0 skipped=0

tidy() {
    for name in $base-a $base-b; do lab down -n "$name"; done
    rm -rf "$scratch"
}
trap tidy EXIT
trap 'exit 1' INT TERM

# Within a test: says what is wrong and ends the test, or leaves it out.
fail() { echo "    $*" >&2; exit 1; }
skip() { echo "    $*" >&2; echo "$*" >"$scratch/why"; exit 77; }
need() { for tool in "$@"; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done; }
# holds EXPRESSION: a Python expression is true
holds() { "$python" -SIc "import sys; sys.exit(not ($1))" || fail "not so: $1"; }
# field JSON PATH...: a member of a JSON object
field() { "$python" -SIc 'import json,sys
value = json.loads(sys.argv[1])
for step in sys.argv[2:]: value = value[step]
print(json.dumps(value) if isinstance(value, dict) else value)' "$@"; }

# record VERDICT CASE [REASON]: where the other test programs leave theirs
record() {
    [ -z "$LINNET_TEST_RESULTS" ] || printf '%s\tlab_test.sh\tLab.%s\t%s\n' "$@" >>"$LINNET_TEST_RESULTS/lab_test.sh.tsv"
}

# Runs a test in a process of its own and removes the labs it made.
run_test() {
    [[ $1 == *"$only"* ]] || return
    local start=$SECONDS status
    record run "$1" ""
    ("$1"); status=$?
    lab down -n $base-a || status=1
    lab down -n $base-b || status=1
    case $status in
        0) passed=$((passed + 1)); record pass "$1" ""; echo "ok      $1 ($((SECONDS - start)) s)" ;;
        77) skipped=$((skipped + 1)); record skip "$1" "$(cat "$scratch/why")"; echo "skipped $1" ;;
        *) failed=$((failed + 1)); record fail "$1" ""; echo "FAILED  $1" ;;
    esac
}

# What of this test's labs is on the machine, links and queues of the root namespace included.
traces() {
    ls /run/netns 2>/dev/null | grep -F ".$base-"
    ls "$LINNET_LAB_RUN" 2>/dev/null
    ls /tmp | grep -F "$base-"
    ip -o link show | sed 's/^[0-9]*: //; s/ .*//'
    tc qdisc show
}

# start_on HOST COMMAND...: in the background; returns once it says "ready"; its output goes to $scratch/HOST
start_on() {
    local host=$1
    shift
    : >"$scratch/$host"
    lab exec -n $base-a "$host" -- "$@" >"$scratch/$host" &
    for _ in {1..100}; do
        grep -q ready "$scratch/$host" && return
        sleep 0.05
    done
    fail "$* is not ready on $host"
}
# result HOST: the last line that the background command of the host printed; "wait" first
result() { tail -n 1 "$scratch/$1"; }
# address HOST
address() { awk -v host="$1" '$2 == host { print $1 }' "$LINNET_LAB_RUN/$base-a/hosts"; }

traffic() { echo "$python" -SI "$here/lab_traffic.py" "$@"; }

# send_frames COUNT PER_SECOND: from h0 to h1; prints what h1 got
send_frames() {
    start_on h1 $(traffic frames-receive)
    lab exec -n $base-a h0 -- $(traffic frames-send "$1" "$2") || fail "cannot send"
    wait
    result h1
}
# faults HOST DIRECTION: what the lab has counted, as JSON
faults() { field "$(lab stats -n $base-a --json)" hosts "$1" "$2" counters; }

# within VALUE COUNT P: VALUE is what COUNT draws of probability P give, to four standard deviations
within() { holds "abs($1 - $2 * $3) < 4 * ($2 * $3 * (1 - $3)) ** 0.5"; }

down_removes_everything() {
    local before after program pid
    before=$(traces)
    lab up -n $base-a --hosts 3 --rate 1gbit --v6 --segment || fail "up"
    "$python" -SIB "$here/lab" exec -n $base-a h1 -- sh -c 'trap "" TERM; sleep 1000 & echo $! >'"$scratch/pid"'; wait' &
    disown
    while [ ! -s "$scratch/pid" ]; do sleep 0.05; done
    pid=$(cat "$scratch/pid")
    if command -v clang >/dev/null && command -v c++ >/dev/null; then
        lab fault -n $base-a h0 --loss 0.1 --delay 1ms || fail "fault"
        program=$(tc -n linnet.$base-a.switch -j filter show dev p0 egress |
                  "$python" -SIc 'import json,sys; print(json.load(sys.stdin)[1]["options"]["prog"]["id"])')
        bpftool prog show id "$program" >/dev/null || fail "there is no program"
    fi
    lab down -n $base-a || fail "down"
    [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" && fail "process $pid lives"
    after=$(traces)
    [ "$before" = "$after" ] || fail "left behind: $(diff <(echo "$before") <(echo "$after"))"
    for _ in {1..40}; do  # the kernel frees a program some time after its last user
        { [ "$program" ] && bpftool prog show id "$program" >/dev/null 2>&1; } || return 0
        sleep 0.05
    done
    fail "program $program is still loaded"
}

down_is_idempotent_and_spares_what_it_did_not_make() {
    lab down -n $base-a || fail "nothing to remove is no success"
    ip netns add linnet.$base-a.h0
    lab up -n $base-a 2>"$scratch/err" && fail "up took a namespace that it did not make"
    grep -q "linnet.$base-a.h0" "$scratch/err" || fail "unclear: $(cat "$scratch/err")"
    lab down -n $base-a
    ip netns list | grep -q "linnet.$base-a.h0" || fail "down removed what up did not make"
    ip netns delete linnet.$base-a.h0
    lab up -n $base-a && lab down -n $base-a && lab down -n $base-a || fail "up, down, down"
}

two_labs_live_side_by_side() {
    need ping
    local a b
    lab up -n $base-a --topology veth && lab up -n $base-b --hosts 3 || fail "up"
    lab up -n $base-a 2>/dev/null && fail "one name for two labs"
    lab list | grep -q "^$base-a: 2 hosts" && lab list | grep -q "^$base-b: 3 hosts" || fail "list: $(lab list)"
    a=$(address h1)
    b=$(awk '$2 == "h1" { print $1 }' "$LINNET_LAB_RUN/$base-b/hosts")
    [ "${a%.*}" != "${b%.*}" ] || fail "one subnet for two labs"
    lab exec -n $base-a h0 -- ping -qc 1 -W 1 "$b" >/dev/null 2>&1 && fail "a host of one lab reaches the other"
    lab down -n $base-a || fail "down"
    lab exec -n $base-b h0 -- ping -qc 1 -W 1 "$b" >/dev/null || fail "the other lab went down as well"
    lab up -n $base-a && lab down --all || fail "down --all"
    [ -z "$(lab list)" ] && ! ip netns list | grep -q "linnet.$base-" || fail "down --all leaves some"
}

hosts_reach_each_other_over_a_cable() {
    need ping
    lab up -n $base-a --topology veth --v6 || fail "up"
    lab exec -n $base-a h0 -- ping -qc 2 -i 0.05 -W 1 h1 >/dev/null || fail "IPv4"
    lab exec -n $base-a h1 -- ping -qc 2 -i 0.05 -W 1 h0-v6 >/dev/null || fail "IPv6"
    lab exec -n $base-a h1 -- ping -qc 1 -W 1 127.0.0.1 >/dev/null || fail "loopback"
}

hosts_reach_each_other_over_a_switch() {
    need ping
    lab up -n $base-a --hosts 4 --v6 || fail "up"
    for to in 1 2 3; do
        lab exec -n $base-a h0 -- ping -qc 1 -W 1 h$to >/dev/null || fail "IPv4 to h$to"
        lab exec -n $base-a h$to -- ping -qc 1 -W 1 h0-v6 >/dev/null || fail "IPv6 from h$to"
    done
}

a_host_has_its_own_name_and_status() {
    lab up -n $base-a || fail "up"
    [ "$(lab exec -n $base-a h1 -- hostname)" = $base-a-h1 ] || fail "host name"
    [ "$(hostname)" != $base-a-h1 ] || fail "the machine was renamed"
    lab exec -n $base-a h1 -- sh -c 'exit 7'
    [ $? = 7 ] || fail "exit status"
    [ "$(lab exec -n $base-a h0 -- echo 'two  blanks' '*')" = 'two  blanks *' ] || fail "words changed on the way"
    lab exec -n $base-a h9 -- true 2>"$scratch/err" && fail "there is no h9"
    grep -q "h0 to h1" "$scratch/err" || fail "unclear: $(cat "$scratch/err")"
}

frames_have_the_size_asked_for() {
    need ping
    lab up -n $base-a --hosts 2 --mtu 4000 || fail "up"
    lab exec -n $base-a h0 -- ping -qc 1 -W 1 -M do -s 3972 h1 >/dev/null || fail "a frame of the MTU is lost"
    lab exec -n $base-a h0 -- ping -qc 1 -W 1 -M do -s 3973 h1 >/dev/null 2>&1 && fail "a larger frame passes"
    return 0
}

# With --segment, and without it a send of many datagrams is one frame on the cable.
a_segment_is_a_frame() {
    need ethtool
    local segment topology
    for segment in "" --segment; do
        for topology in switch veth; do
            lab up -n $base-a --topology $topology $segment || fail "up"
            start_on h1 $(traffic datagrams-receive)
            lab exec -n $base-a h0 -- $(traffic datagrams-send "$(address h1)" 40 1000) || fail "cannot send"
            wait
            # 42: the heads of Ethernet, IP and UDP.
            if [ "$segment" ]; then holds "$(result h1) == [1042] * 40"; else holds "$(result h1) == [40042]"; fi
            lab down -n $base-a
        done
    done
}

a_port_has_the_rate_asked_for() {
    lab up -n $base-a --hosts 2 --rate 200mbit --port-buffer 1m --burst 128k || fail "up"
    local seconds rate share
    # By the port's own counter, which does not depend on when the machine runs the sender. Never more; and no less, unless others have the
    # cores all of the time: then once more, for longer.
    for seconds in 1 2 4 8; do
        start_on h1 $(traffic stream-receive)
        rate=$($(traffic port-rate linnet.$base-a.switch p1 131072) "$python" -SIB "$here/lab" exec -n $base-a h0 -- \
            $(traffic stream-send "$(address h1)" 1000000000 $seconds)) || fail "cannot send"
        wait
        holds "$(result h1)['bits_per_second'] / (200e6 * 1448 / 1514) < 1.1"
        share="$rate['bits_per_second'] / 200e6"
        holds "$share < 1.01"
        "$python" -SIc "import sys; sys.exit(not ($share > 0.95))" && return
    done
    fail "not so within $seconds s: $share > 0.95"
}

faults_have_the_rates_asked_for() {
    need clang bpftool
    local n=20000 got did topology
    for topology in switch veth; do
        lab up -n $base-a --topology $topology || fail "up"
        lab fault -n $base-a h1 --loss 0.03 --duplicate 0.02 --corrupt 0.01 --ethertype 0x88b5 --seed 11 || fail "fault"
        got=$(send_frames $n 0)
        did=$(faults h1 in)
        holds "$did['frames'] == $did['dropped'] + $did['passed'] == $n"
        within "$did['dropped']" $n 0.03
        within "$did['duplicated']" $n 0.97*0.02
        within "$did['corrupted']" $n 0.97*0.01
        # What the receiver saw is what the program says that it did. (The copy of a corrupted frame is whole, and counts
        # as the first of its number.)
        holds "$got['corrupted'] == $did['corrupted']"
        holds "$got['distinct'] + $got['duplicated'] + $got['corrupted'] == $did['passed'] + $did['duplicated']"
        lab down -n $base-a
    done
}

the_frames_that_are_lost_can_be_chosen() {
    need clang bpftool
    lab up -n $base-a || fail "up"
    lab fault -n $base-a h1 --every 7 --ethertype 0x88b5 || fail "fault"
    [ "$(field "$(send_frames 100 0)" distinct)" = 86 ] || fail "not every seventh is lost"
    holds "$(faults h1 in)['dropped'] == 14"
    lab fault -n $base-a h1 --only 5 --ethertype 0x88b5 || fail "fault"
    [ "$(field "$(send_frames 100 0)" distinct)" = 99 ] || fail "not one is lost"
    holds "$(faults h1 in)['dropped'] == 1"
}

a_seed_decides_which_frames_are_lost() {
    need clang bpftool
    local seed first
    lab up -n $base-a || fail "up"
    for seed in 5 5 6; do
        lab fault -n $base-a h0 --direction out --loss 0.1 --ethertype 0x88b5 --seed $seed || fail "fault"
        field "$(send_frames 2000 0)" set >>"$scratch/sets"
    done
    mapfile -t first <"$scratch/sets"
    [ "${first[0]}" = "${first[1]}" ] || fail "one seed, two results"
    [ "${first[0]}" != "${first[2]}" ] || fail "two seeds, one result"
}

other_ethertypes_are_spared() {
    need clang ping
    lab up -n $base-a --topology veth || fail "up"
    lab fault -n $base-a h1 --loss 1 --ethertype 0x88b5 || fail "fault"
    lab exec -n $base-a h0 -- ping -qc 2 -i 0.05 -W 1 h1 >/dev/null || fail "IPv4 is lost too"
    [ "$(field "$(send_frames 100 0)" distinct)" = 0 ] || fail "frames pass"
    lab fault -n $base-a h1 --clear || fail "clear"
    [ "$(field "$(send_frames 100 0)" distinct)" = 100 ] || fail "frames are lost after --clear"
}

checksums_make_tcp_survive_corruption() {
    need clang bpftool
    local sent
    lab up -n $base-a --segment --checksums || fail "up"
    lab fault -n $base-a h1 --corrupt 0.01 || fail "fault"
    start_on h1 $(traffic stream-receive)
    sent=$(lab exec -n $base-a h0 -- $(traffic stream-send "$(address h1)" 2000000 20)) || fail "cannot send"
    wait
    [ "$(field "$(result h1)" sha256)" = "$sent" ] || fail "the stream changed on the way"
    holds "$(faults h1 in)['corrupted'] > 0"
}

frames_are_delayed() {
    need clang c++ ping
    local least topology
    for topology in switch veth; do
        lab up -n $base-a --topology $topology || fail "up"
        lab fault -n $base-a h1 --direction both --delay 5ms || fail "fault"
        least=$(lab exec -n $base-a h0 -- ping -qc 10 -i 0.02 -W 1 h1 | sed -n 's,^rtt[^=]*= \([0-9.]*\)/.*,\1,p')
        holds "10 <= $least < 12"  # milliseconds, there and back
        lab fault -n $base-a --clear || fail "clear"
        least=$(lab exec -n $base-a h0 -- ping -qc 5 -i 0.02 -W 1 h1 | sed -n 's,^rtt[^=]*= \([0-9.]*\)/.*,\1,p')
        holds "$least < 2"
        lab down -n $base-a
    done
}

delayed_frames_are_whole_and_complete() {
    need clang c++ bpftool
    local got
    # One core for all, or the kernel changes the order: it has a queue of arrived frames for each core, and whichever core last put a frame into the
    # queue of a port with a rate empties that queue, so the frame that says the end can draw others to another core.
    "$python" -SIc 'import os, sys; pid = int(sys.argv[1]); os.sched_setaffinity(pid, {max(os.sched_getaffinity(pid))})' $BASHPID || fail "affinity"
    lab up -n $base-a --rate 1gbit || fail "up"
    lab fault -n $base-a h1 --delay 2ms --jitter 1ms --duplicate 0.05 --ethertype 0x88b5 || fail "fault"
    got=$(send_frames 5000 0)
    holds "$got['distinct'] == 5000 and $got['corrupted'] == 0 and $got['overtaken'] == 0"
    holds "$got['duplicated'] == $(faults h1 in)['duplicated'] > 0"
}

frames_are_reordered() {
    need clang c++ bpftool
    local got n=1500
    lab up -n $base-a || fail "up"
    lab fault -n $base-a h1 --delay 10ms --reorder 0.2 --ethertype 0x88b5 --seed 3 || fail "fault"
    got=$(send_frames $n 1500)
    within "$(faults h1 in)['reordered']" $n 0.2
    holds "$got['distinct'] == $n"
    # Each frame that did not wait overtook those of the ten milliseconds before it.
    holds "$got['overtaken'] > $n / 2"
}

a_cable_can_be_pulled_and_plugged() {
    need ping
    local topology
    for topology in switch veth; do
        lab up -n $base-a --topology $topology --v6 || fail "up"
        lab exec -n $base-a h0 -- ping -qc 1 -W 1 h1 >/dev/null || fail "$topology: before"
        lab link -n $base-a h1 down || fail "down"
        lab exec -n $base-a h0 -- ping -qc 1 -W 0.3 h1 >/dev/null 2>&1 && fail "$topology: frames pass a pulled cable"
        lab link -n $base-a h1 up || fail "up"
        for _ in {1..20}; do lab exec -n $base-a h0 -- ping -qc 1 -W 0.2 h1 >/dev/null 2>&1 && break; done
        lab exec -n $base-a h0 -- ping -qc 1 -W 1 h1 >/dev/null || fail "$topology: IPv4 after"
        for _ in {1..20}; do lab exec -n $base-a h0 -- ping -qc 1 -W 0.2 h1-v6 >/dev/null 2>&1 && break; done
        lab exec -n $base-a h0 -- ping -qc 1 -W 1 h1-v6 >/dev/null || fail "$topology: IPv6 after"
        lab down -n $base-a
    done
}

# mpi_ring HOSTS OPTION...: a ring over every host, on TCP and nothing else
mpi_ring() {
    need mpicc mpirun
    local hosts=$1 names expected i before after
    shift
    mpicc -O1 "$here/lab_mpi.c" -o "$scratch/lab_mpi" || fail "cannot compile"
    lab up -n $base-a --hosts "$hosts" "$@" || fail "up"
    before=$(field "$(lab stats -n $base-a --json)" hosts h0 eth0 tx_bytes)
    names=$(lab mpirun -n $base-a --mca pml ob1 --mca btl tcp,self -- "$scratch/lab_mpi") || fail "mpirun: $names"
    for ((i = 0; i < hosts; i++)); do expected="${expected:+$expected }$base-a-h$i"; done
    [ "$names" = "$expected" ] || fail "ran on $names"
    after=$(field "$(lab stats -n $base-a --json)" hosts h0 eth0 tx_bytes)
    holds "$after - $before > 1 << 20"
}
mpirun_spans_two_hosts() { mpi_ring 2 --topology veth; }
mpirun_spans_four_hosts() { mpi_ring 4 --topology switch; }

mpirun_places_and_pins_ranks() {
    need mpirun taskset
    local cores count got newline=$'\n'
    lab up -n $base-a --hosts 2 || fail "up"
    cores=$(nproc --all)
    got=$(lab mpirun -n $base-a --ppn 2 --pin -- \
        sh -c 'echo "$OMPI_COMM_WORLD_RANK $(taskset -pc $$ | sed "s/.*: //") $LINNET_LAB_HOST"' | sort)
    [ "$got" = "$(for rank in 0 1 2 3; do echo "$rank $((rank % cores)) h$((rank / 2))"; done)" ] || fail "got: $got"
    for count in "-np 2" "--bind-to none -n 2" "--bind-to none --np 2" "-c 2"; do
        # shellcheck disable=SC2086  # several words
        got=$(lab mpirun -n $base-a --ppn 2 $count -- echo here | sort)
        [ "$got" = "here${newline}here" ] || fail "$count: $got"
    done
    lab mpirun -n $base-a -np 1 -- false >/dev/null 2>&1 && fail "the exit status is lost"
    return 0
}

a_killed_lab_can_be_removed() {
    local before pause
    before=$(traces)
    for pause in 0.06 0.12 0.2 0.35; do
        "$python" -SIB "$here/lab" up -n $base-a --hosts 40 --rate 1gbit 2>/dev/null &
        sleep $pause
        { kill -9 $! && wait $!; } 2>/dev/null
        lab down -n $base-a || fail "down after $pause s"
        [ "$(traces)" = "$before" ] || fail "after $pause s left behind: $(diff <(echo "$before") <(traces))"
    done
    lab up -n $base-a || fail "up afterwards"
}

an_interrupted_lab_removes_itself() {
    local before
    before=$(traces)
    "$python" -SIB "$here/lab" up -n $base-a --hosts 60 --segment 2>/dev/null &
    while [ ! -e $LINNET_LAB_RUN/$base-a/lab.json ]; do sleep 0.01; done
    kill $! && wait $! && fail "up succeeded nevertheless"
    [ "$(traces)" = "$before" ] || fail "left behind: $(diff <(echo "$before") <(traces))"
}

a_failed_lab_removes_itself() {
    local before
    before=$(traces)
    lab up -n $base-a --rate 1parsec 2>"$scratch/err" && fail "such a rate is accepted"
    grep -q parsec "$scratch/err" || fail "unclear: $(cat "$scratch/err")"
    [ "$(traces)" = "$before" ] || fail "left behind: $(diff <(echo "$before") <(traces))"
}

missing_privilege_is_explained() {
    need runuser
    runuser -u nobody -- test -x "$here/lab" || skip "nobody may not read $here"
    runuser -u nobody -- "$here/lab" up -n $base-a 2>"$scratch/err"
    [ $? = 77 ] || fail "exit status"
    grep -q "needs root" "$scratch/err" || fail "unclear: $(cat "$scratch/err")"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "more than a line: $(cat "$scratch/err")"
    runuser -u nobody -- "$here/lab" --help | grep -q "exit status" || fail "help needs no privilege"
}

wrong_use_is_explained() {
    local words
    for words in "up --hosts 0" "up --hosts 3 --topology veth" "up --topology veth --rate 1gbit" "fault h0" "exec h0" \
                 "fault h0 --loss 2" "fault h0 --every 0" "fault h0 --delay 3" "fault h0 --reorder 0.5" "mpirun" "nonsense" ""; do
        lab $words 2>"$scratch/err"
        [ $? = 2 ] || fail "lab $words: exit status"
        [ -s "$scratch/err" ] || fail "lab $words: no explanation"
    done
}

if [ "$(id -u)" = 0 ]; then
    for name in $(sed -n 's/^\([a-z_]*\)() {.*/\1/p' "$0"); do
        case $name in
            lab | tidy | fail | skip | need | holds | field | record | run_test | traces | start_on | result | address | traffic | \
                send_frames | faults | within | mpi_ring) ;;
            *) run_test "$name" ;;
        esac
    done
else
    # Without root the lab can do nothing but say so, which its own words show.
    lab up -n $base-a
    if [ $? = 77 ]; then
        skipped=1
        record skip needs_root "it needs root"
    else
        failed=1
        record fail needs_root ""
    fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] || exit 1
[ $passed -gt 0 ] || exit 77
