#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The table at the end of configure where every optional package is hidden, and where it is switched off: what will not be built, and the Debian package
# that is missing for it. Part of `make installcheck`; some 20 s.
set -u
[ ! -e "${top_srcdir:?}/config.status" ] || { echo "the source tree itself is configured: no other folder can be"; exit 77; }
work=$(mktemp -d /tmp/linnet-table.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
failed=0
fail() {
    echo "FAIL: $*"
    failed=1
}

# Commands are hidden by a path without them, headers by others of their names in front.
mkdir "$work/bin" "$work/build"
old_ifs=$IFS
IFS=:
for folder in $PATH; do
    case $folder in */ccache) continue ;; esac    # its compilers look for the others in the path
    [ ! -d "$folder" ] || ln -s "$(cd "$folder" && pwd)"/* "$work/bin" 2>/dev/null    # of two of one name the first stays
done
IFS=$old_ifs
rm -f "$work"/bin/ompi_info* "$work"/bin/mpi* "$work"/bin/python*
for header in hwloc.h CLI/CLI.hpp nlohmann/json.hpp gtest/gtest.h benchmark/benchmark.h rdma/fabric.h; do
    mkdir -p "$(dirname "$work/headers/$header")" && echo '#error hidden' >"$work/headers/$header"
done

# table NAME OPTION...: the rows that configure ends with
cd "$work/build" || exit 1
unset PYTHON MPICC MPIRUN MAKEFLAGS MFLAGS
table() {
    name=$work/$1
    shift
    PATH=$work/bin "$top_srcdir/configure" --cache-file="$work/cache" CPPFLAGS="-I$work/headers" "$@" >"$name.log" 2>&1 ||
        { tail -n 20 "$name.log"; fail "configure $*"; }
    sed -n '/^  layers /,$p' "$name.log" | sed '1d; s/^  *//; s/   */   /; /^$/d' >"$name"
}

table hidden
cat >"$work/wanted" <<'EOT'
C++ tests   no   (missing: apt-get install libgtest-dev)
benchmarks of layers   no   (missing: apt-get install libbenchmark-dev)
tree checks and lab tests   no   (missing: apt-get install python3)
machine topology (hwloc)   no   (missing: apt-get install libhwloc-dev)
Open MPI component (MTL)   no   (missing: apt-get install openmpi-bin libopenmpi-dev)
MPI tests and benchmarks   no   (missing: apt-get install openmpi-bin libopenmpi-dev)
libfabric provider   no   (missing: apt-get install libfabric-dev)
linnet-top, linnet-info   no   (missing: apt-get install libcli11-dev nlohmann-json3-dev)
EOT
diff "$work/wanted" "$work/hidden" || fail "where packages are missing, the table says otherwise (>) than it should (<)"

# Are these the packages that bring it? As far as they are installed here, and with those that ./check installs.
# shellcheck disable=SC2013  # words it is
for name in $(sed -n 's/.*apt-get install \(.*\))/\1/p' "$work/hidden"); do
    grep -q "^$name " "$top_srcdir/build/packages" || fail "the table names $name, which build/packages does not know"
done
brings() {
    [ ! -e "$2" ] || ! dpkg -S "$2" >"$work/owner" 2>/dev/null || grep -q "^$1[:,]" "$work/owner" || fail "$2 comes with $(cat "$work/owner"), not with $1"
}
brings libgtest-dev /usr/include/gtest/gtest.h
brings libbenchmark-dev /usr/include/benchmark/benchmark.h
brings libhwloc-dev /usr/include/hwloc.h
brings openmpi-bin /usr/bin/ompi_info
brings libopenmpi-dev /usr/lib/x86_64-linux-gnu/openmpi/include/ompi_config.h
brings libfabric-dev /usr/include/rdma/providers/fi_prov.h
brings libcli11-dev /usr/include/CLI/CLI.hpp
brings nlohmann-json3-dev /usr/include/nlohmann/json.hpp

# What somebody did not want is not missing.
table off --without-ompi --without-hwloc --without-libfabric --disable-tools
cat >"$work/wanted" <<'EOT'
machine topology (hwloc)   no   (switched off by --without-hwloc)
Open MPI component (MTL)   no   (switched off by --without-ompi)
libfabric provider   no   (switched off by --without-libfabric)
linnet-top, linnet-info   no   (switched off by --disable-tools)
EOT
grep -e hwloc -e MTL -e libfabric -e linnet-top "$work/off" | diff "$work/wanted" - || fail "where it is switched off, the table says otherwise (>) than it should (<)"
grep -q '^MPI tests and benchmarks   no   (switched off by --without-ompi)$' "$work/off" || fail "with --without-ompi it says: $(grep '^MPI tests' "$work/off")"
exit $failed
