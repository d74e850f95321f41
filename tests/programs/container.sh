#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Real programs over the installed component as in a strict container: an ordinary user in a user namespace without capabilities, reading another process's
# memory refused, no perf, no locked memory, few descriptors. Four jobs have a rank killed. Part of ./check --full.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
here=${top_srcdir:?}/tests/programs
work=$(mktemp -d /tmp/linnet-container.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
user=
if [ "$(id -u)" = 0 ]; then
    user="setpriv --reuid=65534 --regid=65534 --clear-groups --"
    chown 65534:65534 "$work"
fi
$user test -r "$LINNET_TEST_PLUGIN_DIR/mca_mtl_linnet.so" -a -x "$here/confined" || { echo "an ordinary user cannot read this installation"; exit 77; }
$user "$here/confined" true || { echo "user namespaces or seccomp cannot be had here"; exit 77; }
python=${PYTHON:-python3}    # found by configure, perhaps where an ordinary user may not go
$user "$python" -c '' 2>/dev/null || python=/usr/bin/python3
cd "$work" || exit 1
net=
alone=$work/alone    # a network with nothing but its loopback interface, as a container without one has
cat >"$alone" <<'EOF'
#!/bin/sh
exec unshare -Urn sh -c 'ip link set lo up && exec "$@"' - "$@"
EOF
chmod 755 "$alone"
failed=0
# run TEXT REGEX ARGUMENTS...: run_programs.py so confined; REGEX must be in what a job said.
run() {
    text=$1 expect=$2
    shift 2
    echo "== $text"
    $user env HOME="$work" $net "$here/confined" "$python" "$here/run_programs.py" --plugin-dir "$LINNET_TEST_PLUGIN_DIR" --build "$work/b" \
        --mca mtl_linnet_log_level=debug "$@" || failed=1
    grep -rqE "$expect" "$work"/b/*/output.log || { echo "FAIL: nothing says $expect"; failed=1; }
    rm -rf "$work/b"
}
ulimit -l 0
run "shared memory by two copies" 'shm: .* link to process [0-9]+ is up; we cannot read' -k '(netpipe -i|mpi4py|checkpoint ompio|everyone) on (2|4), here, shm( killed)?$'
run "tcp" 'listening on ' -k '(mpi4py|everyone) on 4, here, tcp( killed)?$'
net=$alone
if $user "$alone" true; then
    run "no interface but lo" 'listening on 127\.0\.0\.1' -k '(netpipe -i|everyone) on (2|4), here, (tcp|shm)$'
else
    echo "SKIP: no network namespace for an ordinary user here"
fi
net=
ulimit -n 256
run "256 descriptors, 32 ranks" 'shm: .* link to process' -k 'everyone on 32, here, shm$'
exit $failed
