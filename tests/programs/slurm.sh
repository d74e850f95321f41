#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# MPI jobs over the installed component under Slurm: a controller and two nodes, each on a host of a lab of its own. Part of ./check --full; needs root and
# the Debian packages slurm-wlm and munge. Everything that runs is ended, and the lab removed, at the end.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
for tool in slurmctld slurmd munged sbatch srun; do
    command -v "$tool" >/dev/null || { echo "$tool is not there (Debian packages slurm-wlm, munge)"; exit 77; }
done
here=${top_srcdir:?}/tests/programs lab=$top_srcdir/tests/lab/lab name=slurm$$
build=${top_builddir:?}/tests/programs
mkdir -p "$build" && "${MPICC:-mpicc}" -std=gnu11 -O2 -g -o "$build/everyone" "$here/everyone.c" || exit 1
"$lab" up -n "$name" --hosts 3 || exit $?

work=$(mktemp -d /tmp/linnet-slurm.XXXXXX)
daemons=
finish() {
    trap - EXIT INT TERM
    for pid in $daemons; do kill "$pid" 2>/dev/null; done
    "$lab" down -n "$name"    # and what runs on its hosts
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
on() {
    host=$1
    shift
    "$lab" exec -n "$name" "$host" -- env SLURM_CONF="$work/slurm.conf" "$@"
}

# ---- munge: one daemon; its socket has a path, which all hosts of a lab share ----
chmod 755 "$work"
install -d -o munge -g munge -m 755 "$work/munge"
dd if=/dev/urandom of="$work/munge/key" bs=64 count=1 status=none
chown munge: "$work/munge/key" && chmod 600 "$work/munge/key"
setpriv --reuid=munge --regid=munge --init-groups munged --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
    --pid-file="$work/munge/pid" --seed-file="$work/munge/seed" --log-file="$work/munge/log" 2>/dev/null &
daemons="$daemons $!"

# ---- Slurm ----
address() { on "$1" hostname -I | tr -d ' '; }
cat >"$work/slurm.conf" <<EOF
ClusterName=linnet
SlurmctldHost=$name-h0($(address h0))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmctldPidFile=$work/ctld.pid
SlurmdPidFile=$work/%n.pid
SlurmdSpoolDir=$work/spool.%n
SlurmctldLogFile=$work/ctld.log
SlurmdLogFile=$work/%n.log
TmpFS=$work/tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
NodeName=$name-h1 NodeAddr=$(address h1) CPUs=4
NodeName=$name-h2 NodeAddr=$(address h2) CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
EOF
echo "CgroupPlugin=cgroup/v1" >"$work/cgroup.conf"
mkdir -p "$work/state" "$work/tmp"
on h0 slurmctld -D 2>/dev/null &
daemons="$daemons $!"
for host in h1 h2; do   # each with a /tmp of its own, as on two machines: Slurm's PMIx keeps files of one name there
    mkdir "$work/tmp.$host"
    on $host unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' - "$work/tmp.$host" "$work/tmp" slurmd -D -N "$name-$host" 2>/dev/null &
    daemons="$daemons $!"
done
for _ in $(seq 1 30); do
    [ "$(on h0 timeout 5 sinfo -h -t idle -o %D 2>/dev/null)" != 2 ] || break
    sleep 0.5
done
on h0 sinfo -N -l
[ "$(on h0 sinfo -h -t idle -o %D)" = 2 ] || { tail -n 5 "$work"/*.log; echo "FAIL: the nodes do not come up"; exit 1; }

failed=0
# job NAME EXPECTED_REGEX COMMAND...: passes when the command ends with 0 and says so.
job() {
    what=$1 expect=$2
    shift 2
    if "$@" >"$work/out" 2>&1 && grep -qE "$expect" "$work/out"; then
        echo "PASS: $what: $(grep -m 1 -E "$expect" "$work/out")"
        verdict=pass
    else
        echo "FAIL: $what"
        tail -n 30 "$work/out" "$work"/*.log
        failed=1 verdict=fail
    fi
    [ -z "${LINNET_TEST_RESULTS:-}" ] || printf '%s\tslurm\t%s\t\n' $verdict "$what" >>"$LINNET_TEST_RESULTS/slurm.tsv"
}

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_pml=cm OMPI_MCA_mtl=linnet
OMPI_MCA_mca_base_component_path=$LINNET_TEST_PLUGIN_DIR:SYSTEM_DEFAULT:USER_DEFAULT
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_pml OMPI_MCA_mtl OMPI_MCA_mca_base_component_path

cat >"$work/job.sh" <<EOF
#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=4
mpirun --mca mtl_linnet_log_level info $build/everyone
EOF
job "sbatch, mpirun, 8 ranks on 2 nodes" "^took .* 8 ranks" on h0 sh -c "sbatch --wait -o '$work/batch' '$work/job.sh'; cat '$work/batch'; grep -q 'ok everyone' '$work/batch'"
job "salloc, mpirun, 4 ranks on 2 nodes" "^took .* 4 ranks" on h0 salloc -N 2 -n 4 mpirun "$build/everyone"
job "srun --mpi=pmix, 8 ranks on 2 nodes" "^took .* 8 ranks" on h0 srun --mpi=pmix -N 2 -n 8 "$build/everyone"

# A killed rank ends the job within 5 s but for what a hypervisor took, and is named; nothing of the job is left.
stolen="${PYTHON:-python3} $top_srcdir/tests/support/stolen.py"
cat >"$work/kill.sh" <<EOF
#!/bin/sh
[ "\$SLURM_PROCID" != 3 ] || { sleep 3; $stolen >$work/moment; kill -9 \$\$; } &
exec $build/everyone 600
EOF
chmod +x "$work/kill.sh"
processes_left() { for exe in /proc/[0-9]*/exe; do [ "$(readlink "$exe")" != "$build/everyone" ] || echo "$exe"; done; }
files() { find /dev/shm /tmp -maxdepth 1 -iname '*linnet*' ! -type d; }
killed() {
    before=$(files)
    on h0 srun --mpi=pmix -N 2 -n 4 --kill-on-bad-exit=1 "$work/kill.sh" && { echo "it ended well"; return 1; }
    [ -s "$work/moment" ] || { echo "nobody was killed"; return 1; }
    # shellcheck disable=SC2046  # two words each
    set -- $($stolen $(cat "$work/moment"))
    echo "over $1 s after the kill, of which the hypervisor took $2 s"
    awk "BEGIN { exit !($1 - $2 <= 5) }" || return 1
    for _ in 1 2 3 4 5; do
        left=$(processes_left)
        [ -n "$left" ] || break
        sleep 0.2
    done
    [ -z "$left" ] || { echo "processes are left: $left"; return 1; }
    [ "$(files)" = "$before" ] || { echo "files are left: $(files)"; return 1; }
}
job "srun --mpi=pmix, a rank is killed" "rank 3 .* is lost|task 3: Killed" killed
exit $failed
