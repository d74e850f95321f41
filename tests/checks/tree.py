#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# What the checks of the tree share: where its files are, how to read C++ without comments, how to report.
"""Used by the check_* programs beside it; each of them exits 0 when the tree is sound, 1 with one line per fault."""

import os
import pathlib
import re
import sys

SOURCE_FOLDERS = ["common", "ompi_mtl", "mpich_netmod", "ofi_provider", "tests", "bench", "tools"]
CXX_SUFFIXES = {".cc", ".h", ".c"}
# Build trees and caches inside a source tree; never ours to judge.
SKIPPED_FOLDERS = {".git", ".libs", ".deps", "autom4te.cache", "build-aux", "__pycache__"}


def top():
    """The source tree: from `make check`, or the tree that this file stands in."""
    return pathlib.Path(os.environ.get("top_srcdir") or pathlib.Path(__file__).resolve().parents[2])


def files_below(folder):
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("build-"))
        for name in sorted(names):
            yield pathlib.Path(path, name)


def cxx_files(root, folders=None):
    for folder in folders or SOURCE_FOLDERS:
        for path in files_below(root / folder):
            if path.suffix in CXX_SUFFIXES:
                yield path


def without_comments_and_strings(text):
    """The same text, as many lines, with comments, strings and character literals blanked."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
    def blank(match):
        lines = "\n" * match.group(0).count("\n")
        return lines if match.group(0)[0] == "/" else '""' + lines

    return token.sub(blank, text)


def finish(name, faults, looked_at):
    for fault in faults:
        print(fault)
    if not looked_at:
        print(f"{name}: nothing to look at: wrong source tree?")
    print(f"{name}: {looked_at} looked at, {len(faults)} faults")
    sys.exit(1 if faults or not looked_at else 0)
