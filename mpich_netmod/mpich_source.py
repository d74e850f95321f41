# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The source of MPICH as Debian has it: fetched with apt-get, checked, kept in the cache. Shared by build-mpich and tests/mpich.
"""All of it lives in a cache outside the checkout."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

VERSION = "4.0.2"
ORIGINAL = f"mpich_{VERSION}.orig.tar.xz"
ORIGINAL_SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
# Where Debian keeps the source package of this version, for whoever has no package list that names an archive.
ENTRY = "deb-src http://deb.debian.org/debian bookworm main"
ADVICE = (f"add a line like `{ENTRY}` to a file in /etc/apt/sources.list.d, or give the archive {ORIGINAL} that is there already with --source")


class Unavailable(Exception):
    """It cannot be had on this machine; the text says why."""


def plain_environment(**more):
    """Of a build of MPICH: ours without what make and its test driver hand down. Its configure scripts take top_srcdir for theirs."""
    handed_down = re.compile(r"(abs_)?(top_)?(src|build)dir|M(AKE)?FLAGS|MAKELEVEL|MAKEOVERRIDES")
    return {name: value for name, value in os.environ.items() if not handed_down.fullmatch(name)} | more


def cache_folder():
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "linnet-mpich"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(path, when_busy=lambda: None):
    """Holds a lock file; calls `when_busy` first when somebody else has it."""
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            when_busy()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_source_lists(target, etc=pathlib.Path("/etc/apt")):
    """The machine's package lists, asking for sources instead of binaries. Returns whether they name any archive."""
    target.mkdir(parents=True, exist_ok=True)
    some = False
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".sources":
            text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
            some |= bool(re.search(r"(?m)^URIs:", text))
        else:
            kept = [line for line in text.splitlines(True) if line.startswith(("deb ", "deb\t", "deb-src"))]
            text = "".join(dict.fromkeys(re.sub(r"^deb\s", "deb-src ", line) for line in kept))
            some |= bool(kept)
        (target / path.name).write_text(text, encoding="utf-8")
    return some


def fetch(cache):
    """Gets the source package with apt, whose own configuration and state are left alone."""
    if not shutil.which("apt-get"):
        raise Unavailable(f"no apt-get here to fetch the source package mpich with; give {ORIGINAL} with --source")
    private = cache / "apt"
    shutil.rmtree(private, ignore_errors=True)
    try:
        if not write_source_lists(private / "sources"):
            raise Unavailable(f"no package list of this machine names an archive to fetch the source package mpich from: {ADVICE}")
        for folder in ("state/lists/partial", "cache/archives/partial", "download"):
            (private / folder).mkdir(parents=True)
        options = {"Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": private / "sources", "Dir::State": private / "state",
                   "Dir::Cache": private / "cache", "APT::Sandbox::User": "root", "Acquire::Retries": "1", "Acquire::http::Timeout": "20",
                   "Acquire::https::Timeout": "20", "Acquire::Languages": "none"}
        apt = ["apt-get", "-qq", *[word for name, value in options.items() for word in ("-o", f"{name}={value}")]]
        said = ""
        for command in (["update"], ["source", "--download-only", "mpich"]):
            done = subprocess.run(apt + command, cwd=private / "download", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            said = done.stderr.strip() or said
        got = private / "download" / ORIGINAL
        if not got.exists():
            last = said.splitlines()[-1] if said else "it said nothing"
            raise Unavailable(f"apt-get source did not bring {ORIGINAL} ({last}): {ADVICE}")
        got.rename(cache / ORIGINAL)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def original(cache, given):
    """The source archive: the given one, or its folder, the cached one, or a fetched one."""
    path = given if given else cache / ORIGINAL
    if path.is_dir():
        path = path / ORIGINAL
    if not given and not (path.exists() and sha256(path) == ORIGINAL_SHA256):
        fetch(cache)
    if not path.exists():
        raise Unavailable(f"there is no {path}")
    found = sha256(path)
    if found != ORIGINAL_SHA256:
        raise Unavailable(f"{path} is not the known source of MPICH {VERSION}: its SHA-256 is {found}")
    return path


def unpack(archive, folder, below=""):
    """The archive's files, or those of one folder of it, as `folder`/mpich-VERSION."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, [member for member in tar if member.name.startswith(f"mpich-{VERSION}/{below}")])
    return folder / f"mpich-{VERSION}"
