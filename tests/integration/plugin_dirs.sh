#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# --with-ompi-plugindir=auto and --with-libfabric-dir=auto: `make install DESTDIR=` puts the component and the provider where the stock Open MPI and
# libfabric find them, and `make uninstall` leaves no file. Part of ./check --full; works on a copy of what is built here, so that little is compiled.
set -u
[ -e "${LINNET_TEST_PLUGIN_DIR:?}/mca_mtl_linnet.so" ] || { echo "the Open MPI component is not in this build"; exit 77; }
[ -e "${LINNET_TEST_OFI_DIR:?}/liblinnet-fi.so" ] || { echo "the libfabric provider is not in this build"; exit 77; }
[ ! -e "${top_srcdir:?}/config.status" ] || { echo "the source tree itself is configured: no other folder can be"; exit 77; }
for tool in ompi_info fi_info; do
    command -v $tool >/dev/null || { echo "there is no $tool"; exit 77; }
done
work=$(mktemp -d /tmp/linnet-plugins.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
log=$work/log dest=$work/dest
fail() {
    tail -n 20 "$log"
    echo "FAIL: $*"
    exit 1
}
mkdir "$work/tree" "$dest" && cd "${top_builddir:?}" || exit 1
cp -a config.h stamp-h1 common ompi_mtl ofi_provider tools bench "$work/tree" || exit 1
rm -f "$work"/tree/ompi_mtl/*.la "$work"/tree/ofi_provider/*.la    # libtool keeps in them where they go
find "$work/tree" -path '*/.deps/*' -name '*.P*' -delete             # and here are relative paths of sources
cd "$work/tree" || exit 1
eval "set -- $("$top_builddir/config.status" --config)"
"${top_srcdir:?}/configure" "$@" --with-ompi-plugindir=auto --with-libfabric-dir=auto >"$log" 2>&1 || fail "configure"
make -j"$(nproc)" install DESTDIR="$dest" >>"$log" 2>&1 || fail "make install"
component=$(find "$dest" -name mca_mtl_linnet.so) provider=$(find "$dest" -name liblinnet-fi.so)
echo "installed: ${component#"$dest"} ${provider#"$dest"}"
[ -n "$component" ] && [ -e "$(dirname "${component#"$dest"}")/mca_pml_ob1.so" ] || fail "the stock Open MPI has its components elsewhere"
[ -n "$provider" ] || fail "there is no provider"

# Do they look there? In a mount namespace, where it is installed.
cat >"$work/looks" <<'EOF'
mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr || { echo "no overlay can be mounted here"; exit 77; }
LD_LIBRARY_PATH=$1$2/lib
export LD_LIBRARY_PATH
ompi_info --parsable | grep '^mca:mtl:linnet:version:.*component' || { echo "Open MPI does not find its component"; exit 1; }
fi_info -p linnet | grep -m 1 'provider: *linnet' || { echo "libfabric does not find its provider"; exit 1; }
EOF
env -u FI_PROVIDER_PATH -u OMPI_MCA_mca_base_component_path unshare -m sh "$work/looks" "$dest" "$LINNET_TEST_PREFIX"
case $? in
    0) ;;
    77) echo "no overlay can be mounted here: it was not tried whether they look there" ;;
    *) exit 1 ;;
esac

make uninstall DESTDIR="$dest" >>"$log" 2>&1 || fail "make uninstall"
left=$(find "$dest" ! -type d)
[ -z "$left" ] || fail "make uninstall left $left"
