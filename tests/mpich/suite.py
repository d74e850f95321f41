# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The MPICH test suite: configures it for the MPI that shall run it, compiles programs of it, and reads its lists.
"""All of it lives in a cache outside the checkout, one folder for each source and compiler, and is made once."""

import dataclasses
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "mpich_netmod"))
from mpich_source import ORIGINAL_SHA256, VERSION, Unavailable, cache_folder, original, plain_environment, unpack  # noqa: E402, F401

# The removed MPI-1 functions, which the suite's library uses, are in Open MPI's library but hidden by its header. -O0 for the programs, because
# compiling takes longer than they do; not for the library, which fills and checks all data. MPICH's own extensions stay out (strict).
FLAGS = "-w -DOMPI_OMIT_MPI1_COMPAT_DECLS=0"
LIBRARY_FLAGS = f"CFLAGS=-O2 {FLAGS}"
CONFIGURE = ["--disable-fortran", "--disable-cxx", "--disable-io", "--disable-romio", "--enable-strictmpi", "--enable-threads=multiple",
             "--disable-dependency-tracking", "--disable-shared", "--enable-silent-rules", f"CFLAGS=-O0 {FLAGS}"]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of a testlist."""
    folder: str
    program: str
    ranks: int
    arguments: tuple = ()
    environment: tuple = ()       # NAME=VALUE
    seconds: int = 0              # 0: the suite's default
    result: str = ""              # how it is judged, if not by "No Errors" and exit status 0
    memory: float = 0.0           # GB
    launcher: tuple = ()          # options of MPICH's mpiexec

    @property
    def name(self):
        return " ".join([f"{self.folder}/{self.program}", str(self.ranks), *self.arguments, *self.environment])


class Broken(Exception):
    """The suite is here, but cannot be made ready; the text says where to look."""


def unpacked(cache, archive):
    tree = cache / f"mpich-{VERSION}" / "test" / "mpi"
    if not (tree / "unpacked").exists():
        shutil.rmtree(cache / f"mpich-{VERSION}", ignore_errors=True)
        unpack(archive, cache, "test/mpi/")
        (tree / "unpacked").touch()
    return tree


def said_by(command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


class Suite:
    """The configured suite. `given`: its source archive, the folder of it, an unpacked MPICH tree, or None to fetch it. `of_mpich`: it is MPICH that runs it."""

    def __init__(self, mpicc, given=None, jobs=os.cpu_count(), of_mpich=False):
        self.jobs, self.of_mpich = jobs, of_mpich
        cache = cache_folder()
        self.lock = open(cache / "lock", "w", encoding="utf-8")  # held while something is made
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            if given and (given / "test" / "mpi" / "configure").exists():
                source, key = given / "test" / "mpi", str(given.resolve())
            else:
                source, key = unpacked(cache, original(cache, given)), ORIGINAL_SHA256
            made_of = [key, LIBRARY_FLAGS, *CONFIGURE, mpicc, said_by([mpicc, "--showme:version"]), said_by([mpicc, "--version"])]
            self.build = cache / f"build-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]}"
            self.configure(source.resolve(), mpicc)
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def configure(self, source, mpicc):
        if (self.build / "configured").exists():
            return
        shutil.rmtree(self.build, ignore_errors=True)
        self.build.mkdir()
        self.run([source / "configure", *CONFIGURE, f"CC={mpicc}", f"MPICC={mpicc}"], self.build, "configure.log")
        for folder in ("dtpools", "util"):
            self.run(["make", f"-j{self.jobs}", "-C", folder, LIBRARY_FLAGS], self.build, "libraries.log")
        (self.build / "configured").touch()

    def run(self, command, folder, log):
        with open(self.build / log, "a", encoding="utf-8") as out:
            done = subprocess.run(command, cwd=folder, env=plain_environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise Broken(f"`{' '.join(map(str, command[:3]))}` failed, see {self.build / log}")

    def folders(self, below=""):
        """Those with programs that the suite's lists name, each followed by those below it; and io, which is configured apart."""
        found = [] if below else ["io"]
        for line in self.list_of(below or ".").splitlines():
            words = line.split("#")[0].split()
            if len(words) == 1 and (self.build / below / words[0] / "Makefile").exists():
                folder = f"{below}/{words[0]}".lstrip("/")
                found += ([folder] if self.entries(folder) else []) + self.folders(folder)
        return list(dict.fromkeys(found))

    def list_of(self, folder, name="testlist"):
        for place in (self.build / folder / name, self.source_of(folder) / name):
            if place.exists():
                return place.read_text(encoding="utf-8")
        return ""

    def entries(self, folder, datatypes=False):
        """Those of the folder's list, each once: without MPICH many do not differ, but in settings of MPICH itself. `datatypes`: those of its list of
        programs with generated datatypes too, which take most of their time for making and checking data."""
        found = {}
        for name in ("testlist", "testlist.dtp") if datatypes else ("testlist",):
            for line in self.list_of(folder, name).splitlines():
                entry = parse_line(folder, line, self.of_mpich)
                if entry:
                    found.setdefault(entry.name, entry)
        return list(found.values())

    def source_of(self, folder):
        makefile = (self.build / folder / "Makefile").read_text(encoding="utf-8")
        return (self.build / folder / re.search(r"(?m)^srcdir = (.*)$", makefile).group(1)).resolve()

    def compile(self, entries):
        """Compiles what is not there yet. What cannot be compiled is simply not there afterwards; compile.log says why."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            for folder in dict.fromkeys(entry.folder for entry in entries):
                wanted = dict.fromkeys(entry.program for entry in entries if entry.folder == folder)
                missing = [program for program in wanted if not self.program(folder, program).exists()]
                if missing:
                    with open(self.build / folder / "compile.log", "w", encoding="utf-8") as out:
                        subprocess.run(["make", "-k", f"-j{self.jobs}", *missing], cwd=self.build / folder, env=plain_environment(),
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False)
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def program(self, folder, program):
        return self.build / folder / program

    def folder_to_run_in(self, folder, above):
        """One for this run alone, below `above`: a program finds the others of its folder there, and the files it makes are in nobody's way who runs
        the suite at the same time, under the same names."""
        place = (above / folder).resolve()
        place.mkdir(parents=True, exist_ok=True)
        for program in (self.build / folder).iterdir():
            if program.is_file() and os.access(program, os.X_OK) and not (place / program.name).is_symlink():
                (place / program.name).symlink_to(program)
        return place


def parse_line(folder, line, of_mpich=False):
    """An Entry, or None: for an empty line, a subfolder, and without MPICH what only it promises (strict=false). So are its settings, MPIR_CVAR_..., its own."""
    words = line.split("#")[0].split()
    if len(words) < 2 or not words[1].isdigit():
        return None
    options = [tuple(word.split("=", 1)) for word in words[2:] if "=" in word]
    single = dict(options)
    if not of_mpich and (single.get("strict", "").lower() == "false" or single.get("mpix", "").lower() == "true"):
        return None
    values = {key: tuple(value for name, value in options if name == key) for key in ("arg", "env", "mpiexecarg")}
    environment = tuple(value for value in values["env"] if of_mpich or not value.startswith("MPIR_CVAR_"))
    return Entry(folder, words[0], int(words[1]), values["arg"], environment, int(single.get("timeLimit", 0)), single.get("resultTest", ""),
                 float(single.get("mem", 0)), values["mpiexecarg"])
