#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# usage: headers_of_5.sh FOLDER      the sources of Open MPI 5.0: its folders opal and ompi, as in `git clone --branch v5.0.9`, not configured
# A syntax check of the component against the internal headers of Open MPI 5.0, where only 4.1 is installed: by hand, before a change of ompi_mtl/ is called
# one for 5.0 too. What configure would have made comes from the 4.1, and the five definitions that only a 5.0 has from here; nothing is linked or run.
set -eu
sources=$(cd "${1:?the sources of Open MPI 5.0}" && pwd)
ours=$(cd "$(dirname "$0")/../../.." && pwd)
installed=$(ompi_info --parsable --path pkgincludedir | sed -n 's/^path:pkgincludedir://p')
version() { sed -n "s/^$1=//p" "$sources/VERSION"; }
major=$(version major) minor=$(version minor) release=$(version release)
[ "$major" = 5 ] || { echo "$sources is no Open MPI 5"; exit 2; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

sed -E "s/^(#define O(MPI|PAL)_MAJOR_VERSION) .*/\1 $major/; s/^(#define O(MPI|PAL)_MINOR_VERSION) .*/\1 $minor/; s/^(#define O(MPI|PAL)_RELEASE_VERSION) .*/\1 $release/" \
    "$installed/opal_config.h" >"$made/opal_config.h"
cat >"$made/only_5.h" <<'EOT'
#define OMPI_FORTRAN_STATUS_SIZE 6
#define OPAL_USE_C11_ATOMICS 1
#define MCA_threads_base_include_HEADER "opal/mca/threads/pthreads/threads_pthreads_threads.h"
#define MCA_threads_mutex_base_include_HEADER "opal/mca/threads/pthreads/threads_pthreads_mutex.h"
#define MCA_threads_tsd_base_include_HEADER "opal/mca/threads/pthreads/threads_pthreads_tsd.h"
EOT
# mpi.h: the #undef lines of its template become what a configured header says.
awk 'FNR == 1 { template = FILENAME == ARGV[ARGC - 1] }
     !template && $1 == "#define" && !($2 in set) { set[$2] = $0 }
     template { print $1 == "#undef" && ($2 in set) ? set[$2] : $0 }' "$made/opal_config.h" "$installed/../mpi.h" "$sources/ompi/include/mpi.h.in" >"$made/mpi.h"

pmix=$(dirname "$(find /usr/include /usr/lib -name pmix_common.h -print -quit)")
for source in "$ours"/ompi_mtl/*.c; do
    "${CC:-gcc}" -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -include "$made/only_5.h" -I"$ours/common" -isystem "$made" -isystem "$sources" \
        -isystem "$sources/opal/include" -isystem "$sources/ompi/include" -isystem "$pmix" "$source"
    echo "good: ${source##*/} with Open MPI $major.$minor.$release"
done
