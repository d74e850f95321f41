#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The tables of README.md that count the entries of results/*.tsv, so that the two cannot disagree.
"""Says where the counts in README.md are not those of results/*.tsv; with --write it sets them right. A table is known by its first column and by those
that follow; its folders are the rows that it has, and a folder of the results without a row is an error. check_run_mpich asks it.
Exit status: 0 they agree, 1 they do not, or a row is missing."""

import argparse
import dataclasses
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
OPEN_MPI = ["between-hosts", "within-a-host", "ofi-between-hosts", "ofi-within-a-host"]   # the same lists, so that all together name every entry
MPICH = ["mpich-within-a-host", "mpich-between-hosts"]   # and what the lists have for MPICH only
GENERATED = re.compile(r" -type=MPI_INT\b.* -seed=\d+ -testsize=\d+$")   # an entry of testlist.dtp, and none of testlist
BTL = ["btl-between-hosts", "btl-within-a-host"]   # one-sided operations by osc rdma over btl ofi
TABLES = [*OPEN_MPI, *BTL, *MPICH]
NO_COMPILER = "does not compile"


def read(name):
    """The entries of a table: verdict and reason of each."""
    lines = (FOLDER / "results" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    at = lines[0].split("\t").index("verdict")
    return {row[0]: (row[at], "".join(row[at + 1:])) for row in (line.split("\t") for line in lines[1:])}


def folder_of(name):
    return name.split(" ")[0].rsplit("/", 1)[0]


def generated(name):
    return bool(GENERATED.search(name))


def plain(name):
    return not generated(name)


def verdict(table, *verdicts):
    return lambda results, name: results[table].get(name, ("not run", ""))[0] in verdicts


def not_compiled(results, name):
    return any(results[table].get(name, ("", ""))[1] == NO_COMPILER for table in OPEN_MPI)


def not_run(table):
    """For want of time, or of memory."""
    return lambda results, name: verdict(table, "not run")(results, name) and not not_compiled(results, name)


@dataclasses.dataclass
class Table:
    """What it counts: of all entries in these results those that `among` says, and of these, in each column, those that are so."""
    results: list
    among: object
    columns: list     # (title, whether an entry is counted)

    def header(self):
        return "| folder | entries | " + " | ".join(title for title, _ in self.columns) + " |"

    def names(self, results):
        return sorted({name for table in self.results for name in results[table] if self.among(name)})

    def row(self, folder, results, names):
        names = [name for name in names if folder in ("all", folder_of(name))]
        return "| " + " | ".join([folder, str(len(names)), *(str(sum(is_so(results, name) for name in names)) for _, is_so in self.columns)]) + " |"


def tables():
    compiles = ("do not compile", not_compiled)
    places = [("between hosts", "between-hosts"), ("within a host", "within-a-host")]
    results, datatypes, ofi, btl, mpich = [compiles], [compiles], [compiles], [], []
    for title, table in places:
        both = [(f"{title}: pass", verdict(table, "pass", "better")), ("over neither", verdict(table, "neither"))]
        results += [*both, ("listed", verdict(table, "listed"))]
        datatypes += [*both, ("not run", not_run(table))]
    for title, place in places[::-1]:
        table = f"ofi-{place}"
        ofi += [(f"{title}: pass", verdict(table, "pass", "better")), ("nor over ob1", verdict(table, "neither")),
                ("nor by mtl ofi over tcp;ofi_rxm", verdict(table, "host")), ("not run", not_run(table))]
        table = f"btl-{place}"
        btl += [(f"{title}: pass over Linnet", verdict(table, "pass", "better")), ("not by osc rdma over tcp;ofi_rxm either", verdict(table, "host")),
                ("nor by osc pt2pt over ob1", verdict(table, "neither")), ("not run", verdict(table, "not run"))]
        table = f"mpich-{place}"
        mpich += [(f"{title}: pass over Linnet", verdict(table, "pass", "better")), ("pass over it only", verdict(table, "better")),
                  ("over neither", verdict(table, "neither")), ("not run", verdict(table, "not run"))]
    return [Table(OPEN_MPI, plain, results), Table(OPEN_MPI, generated, datatypes), Table(OPEN_MPI, plain, ofi), Table(BTL, plain, btl), Table(MPICH, plain, mpich)]


def counted(text, results):
    """The text with the counts set right, and what cannot be: folders without a row."""
    lines, wrong = text.splitlines(), []
    for table in tables():
        names = table.names(results)
        begin = end = lines.index(table.header()) + 2
        while end < len(lines) and lines[end].startswith("| "):
            end += 1
        folders = [line.split(" | ")[0].removeprefix("| ") for line in lines[begin:end]]
        lines[begin:end] = [table.row(folder, results, names) for folder in folders]
        wrong += [f"no row for {folder} below {table.header()}" for folder in sorted({*map(folder_of, names)} - {*folders})]
    return "\n".join(lines) + "\n", wrong


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="set the counts in README.md right")
    args = parser.parse_args(argv)
    readme = FOLDER / "README.md"
    text = readme.read_text(encoding="utf-8")
    right, wrong = counted(text, {table: read(table) for table in TABLES})
    if args.write:
        readme.write_text(right, encoding="utf-8")
    else:
        wrong += [f"README.md: {old}\nresults:   {new}" for old, new in zip(text.splitlines(), right.splitlines()) if old != new]
    print("\n".join(wrong or ["README.md and results/*.tsv agree"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
