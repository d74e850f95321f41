#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Make ./configure from a git checkout; the same as `autoreconf -i`.
set -e
cd "$(dirname "$0")"
for tool in autoconf automake libtoolize; do
    command -v "$tool" >/dev/null || { echo "autogen.sh: $tool is missing: apt-get install autoconf automake libtool" >&2; exit 1; }
done
exec autoreconf --install
