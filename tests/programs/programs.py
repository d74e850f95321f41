# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The real programs: how each is run, and how its output is judged.
"""A program has variants, its ways to be run. `command` gives the words behind mpirun's options and may leave files in `folder`, where the job runs.
`judge` says what is wrong with what the job said, or nothing. `endless` is a command that goes on long enough to be killed."""

import pathlib
import re
import shutil

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"      # the one that Debian's mpi4py belongs to
HPCC_INPUT = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


class Program:
    name = package = executable = ""
    variants = ("",)
    options = ()           # of mpirun
    any_ranks = True       # False: two and no more
    seconds = 180

    def missing(self):
        return "" if shutil.which(self.executable) else f"{self.executable} is not there (Debian package {self.package})"

    def command(self, variant, ranks, folder):
        raise NotImplementedError

    def endless(self, ranks, folder):
        raise NotImplementedError

    def judge(self, text, variant, ranks, folder):
        raise NotImplementedError

    def reference(self, text):
        """What must be the same over any stack; None if there is no such thing."""
        return None


class Hpcc(Program):
    """HPL, PTRANS, DGEMM, STREAM, RandomAccess, FFT, latency and bandwidth: each part verifies its results."""
    name = package = executable = "hpcc"
    seconds = 300
    sections = ("MPIRandomAccess", "StarRandomAccess", "MPIRandomAccess_LCG", "PTRANS", "StarDGEMM", "StarSTREAM", "MPIFFT", "StarFFT",
                "LatencyBandwidth", "HPL")

    def missing(self):
        return super().missing() or ("" if HPCC_INPUT.exists() else f"{HPCC_INPUT} is not there")

    def _prepare(self, size, ranks, folder):
        rows = 2 if ranks % 2 == 0 and ranks > 2 else 1
        text = HPCC_INPUT.read_text(encoding="ascii")
        for old, new in ((r"^1000(\s+Ns)", rf"{size}\1"), (r"^80(\s+NBs)", r"32\1"), (r"^2(\s+Ps)", rf"{rows}\1"), (r"^2(\s+Qs)", rf"{ranks // rows}\1")):
            text, found = re.subn(old, new, text, flags=re.MULTILINE)
            assert found == 1, old
        (folder / "hpccinf.txt").write_text(text, encoding="ascii")
        (folder / "hpccoutf.txt").unlink(missing_ok=True)
        return ["hpcc"]

    def command(self, variant, ranks, folder):
        return self._prepare(200, ranks, folder)

    def endless(self, ranks, folder):
        return self._prepare(6000, ranks, folder)

    def judge(self, text, variant, ranks, folder):
        out = folder / "hpccoutf.txt"
        said = out.read_text(encoding="ascii", errors="replace") if out.exists() else ""
        for section in self.sections:
            if f"End of {section} section." not in said:
                return f"hpcc did not come to the end of {section}"
        accuracy = [float(x) for x in re.findall(r"^max\(\|x-x0\|\): (\S+)", said, re.MULTILINE)]
        wanted = {
            "Success": re.findall(r"^Success=(\d+)", said, re.MULTILINE) == ["1"],
            "ranks": f"CommWorldProcs={ranks}\n" in said,
            "HPL": len(re.findall(r"\|\|Ax-b\|\|.* PASSED$", said, re.MULTILINE)) == 1,
            "PTRANS and HPL": len(re.findall(r"^ +0 tests completed and failed residual checks", said, re.MULTILINE)) == 2,
            "RandomAccess": len(re.findall(r"^Found 0 errors in \d+ locations \(passed\)", said, re.MULTILINE)) == 4
                            and not re.search(r"^Found [1-9]\d* errors", said, re.MULTILINE),
            "nodes": not re.search(r"^Node\(s\) with error [1-9]", said, re.MULTILINE),
            "FFT": len(accuracy) == 2 and max(accuracy) < 1e-12,
            "no failure": "FAILED" not in said,
        }
        return ", ".join(f"{name} is wrong in {out}" for name, good in wanted.items() if not good)


class NetPipe(Program):
    """Ping-pongs of growing sizes whose contents are compared; the last variant by MPI_Put."""
    name, package, executable = "netpipe", "netpipe-openmpi", "NPopenmpi"
    variants = ("-i", "-i -a -2", "-i -S -z", "-i -s")
    any_ranks = False
    upper = 1 << 20

    def command(self, variant, ranks, folder):
        return ["NPopenmpi", *variant.split(), "-n", "10", "-u", str(self.upper)]

    def endless(self, ranks, folder):
        return ["NPopenmpi", "-i", "-n", "1000000", "-l", "60000", "-u", str(self.upper)]

    def judge(self, text, variant, ranks, folder):
        passed = [int(x) for x in re.findall(r"^ *\d+: +(\d+) bytes +\d+ times --> +Integrity check passed", text, re.MULTILINE)]
        if len(passed) < 20 or passed[-1] < self.upper // 2:
            return f"{len(passed)} sizes passed its integrity check, the last {passed[-1] if passed else 0} bytes"
        return "an integrity check failed" if re.search(r"integrity.*(fail|error)", text, re.IGNORECASE) else ""


class Lammps(Program):
    """A Lennard-Jones crystal melts: energies and pressure to fifteen digits, which must be those of the run over pml ob1."""
    name, package, executable = "lammps", "lammps", "lmp"

    def _run(self, steps):
        return ["lmp", "-in", str(HERE / "melt.lammps"), "-var", "steps", str(steps), "-var", "cells", "10", "-log", "none"]

    def command(self, variant, ranks, folder):
        return self._run(200)

    def endless(self, ranks, folder):
        return self._run(10_000_000)

    def judge(self, text, variant, ranks, folder):
        rows = (self.reference(text) or "").splitlines()
        return "" if len(rows) == 21 and f"on {ranks} procs for 200 steps with 4000 atoms" in text else f"{len(rows)} lines of thermo output"

    def reference(self, text):
        found = re.search(r"^Step .*\n((?: +\d+( +-?[0-9.e+-]+){5} *\n)+)Loop time", text, re.MULTILINE)
        return found.group(1) if found else None


class Pickles(Program):
    """mpi4py with pickled objects."""
    name, package, executable = "mpi4py", "python3-mpi4py", PYTHON
    script = str(HERE / "pickles.py")

    def missing(self):
        there = any(pathlib.Path(PYTHON).resolve().exists() and folder.joinpath("mpi4py").is_dir() for folder in
                    (pathlib.Path("/usr/lib/python3/dist-packages"),))
        return "" if there else f"mpi4py is not there (Debian package {self.package})"

    def command(self, variant, ranks, folder):
        return [PYTHON, self.script]

    def endless(self, ranks, folder):
        return [PYTHON, self.script, "3600"]

    def judge(self, text, variant, ranks, folder):
        return "" if re.search(r"^ok pickles", text, re.MULTILINE) else "it did not say ok"


class Compiled(Program):
    """A program of this folder."""
    build = None    # where it is compiled to; set by the runner

    @property
    def path(self):
        return str(self.build / self.name)

    def missing(self):
        return ""


class Checkpoint(Compiled):
    """Heat on a square, written with MPI-IO and resumed: the sum over all bits must be that of a run in one piece, over pml ob1."""
    name = "checkpoint"
    variants = ("ompio", "romio")

    def command(self, variant, ranks, folder):
        (folder / "state").unlink(missing_ok=True)
        return ["--mca", "io", "romio321" if variant == "romio" else "ompio", self.path, str(folder / "state"), "200", "40", "500"]

    def endless(self, ranks, folder):
        (folder / "state").unlink(missing_ok=True)
        return [self.path, str(folder / "state"), "100000000", "40", "500"]

    def resumed(self, folder, more):
        """The command that goes on from what a killed job left, and the last step that it does; None if it left nothing good."""
        state = folder / "state"
        if not state.exists() or state.stat().st_size != 24 + 500 * 500 * 8:
            return None, 0
        step = int.from_bytes(state.read_bytes()[8:16], "little") + more
        return [self.path, str(state), str(step), "0", "500"], step

    def in_one_piece(self, folder, steps):
        return [self.path, str(folder / "no-such-file"), str(steps), "0", "500"]

    def judge(self, text, variant, ranks, folder):
        return "" if self.reference(text) else "it did not say ok"

    def reference(self, text):
        found = re.search(r"^ok checkpoint (step \d+ sum [0-9a-f]{16})", text, re.MULTILINE)
        return found.group(1) if found else None


class Everyone(Compiled):
    """Every rank talks to every other, and verifies."""
    name = "everyone"
    seconds = 300

    def command(self, variant, ranks, folder):
        return [self.path]

    def endless(self, ranks, folder):
        return [self.path, "3600"]

    def at_least(self, seconds):
        """As many rounds as begin within that time."""
        return [self.path, str(seconds)]

    def judge(self, text, variant, ranks, folder):
        said = re.search(rf"^took [0-9.]+ s for [1-9][0-9]* rounds of {ranks} ranks", text, re.MULTILINE)
        return "" if said and "ok everyone" in text else "it did not say ok"

    def round_took(self, text):
        said = re.search(r"^took ([0-9.]+) s for ([0-9]+) rounds", text, re.MULTILINE)
        return float(said.group(1)) / int(said.group(2))


PROGRAMS = {p.name: p for p in (Hpcc(), NetPipe(), Lammps(), Pickles(), Checkpoint(), Everyone())}
