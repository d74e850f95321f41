# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The comparison as a picture, drawn by gnuplot.

import math
import pathlib
import subprocess
import tempfile

from report import table


class PictureError(RuntimeError):
    """gnuplot is missing or refused."""


# Eight colours that stay apart for colour-blind readers and in grey, after Okabe and Ito, without the yellow.
COLOURS = ("0072b2", "d55e00", "009e73", "cc79a7", "56b4e9", "e69f00", "000000", "999999")


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _blocks(entry):
    """gnuplot data: for each stack a block of point, median, least, greatest."""
    for number, stack in enumerate(entry["stacks"].values()):
        rows = [f"{x} {r['median']} {r['min']} {r['max']}" for x, r in stack["points"].items()]
        yield f"$stack{number} << EOD\n" + "\n".join(rows) + "\nEOD\n"


def _curves(entry, points):
    """Median as a line, least to greatest as bars."""
    log_x = len(points) > 2 and min(points) > 0
    positive = all(r["min"] > 0 for s in entry["stacks"].values() for r in s["points"].values())
    yield "set logscale x 2\n" if log_x else "unset logscale x\n"
    yield "set logscale y\n" if positive else "unset logscale y\n"
    step = max(1, math.ceil(len(points) / 8))
    tics = ", ".join(f'{_quoted(table.point_name(points, x))} {x}' for x in points[::step])
    yield f"set xtics ({tics}) rotate by -35\n"
    if log_x:
        yield f"set xrange [{points[0] / 1.5}:{points[-1] * 1.5}]\n"
    else:
        margin = max(1.0, 0.1 * (points[-1] - points[0]))
        yield f"set xrange [{points[0] - margin}:{points[-1] + margin}]\n"
    plots = []
    for number, name in enumerate(entry["stacks"]):
        style = f"lc {number + 1} pt {number + 4}"
        plots.append(f"$stack{number} using 1:2:3:4 with yerrorbars {style} notitle")
        plots.append(f"$stack{number} using 1:2 with linespoints {style} title {_quoted(name)}")
    yield "plot " + ", \\\n  ".join(plots) + "\n"


def _bars(entry, x):
    """One bar for each stack, least to greatest as a whisker."""
    yield "unset logscale\nset style fill solid 0.6\nset boxwidth 0.7\n"
    names = list(entry["stacks"])
    tics = ", ".join(f"{_quoted(name)} {i}" for i, name in enumerate(names))
    yield f"set xtics ({tics}) rotate by -35\nset xrange [-0.7:{len(names) - 0.3}]\nunset key\n"
    rows = [(i, s["points"][x]) for i, s in enumerate(entry["stacks"].values()) if x in s["points"]]
    low = min(0.0, *(row["min"] for _, row in rows))
    yield f"set yrange [{'*' if low < 0 else 0}:*]\n$bars << EOD\n"
    yield "".join(f"{i} {r['median']} {r['min']} {r['max']} {i + 1}\n" for i, r in rows) + "EOD\n"
    yield "plot $bars using 1:2:5 with boxes lc variable, $bars using 1:2:3:4 with yerrorbars lc 0 pt 0\n"


def script(metrics, title, png):
    """The gnuplot program: one panel for each metric."""
    columns = min(3, math.ceil(math.sqrt(len(metrics))))
    rows = math.ceil(len(metrics) / columns)
    out = [f"set terminal pngcairo size {640 * columns},{460 * rows} noenhanced\n",
           f"set output {_quoted(str(png))}\n",
           f"set multiplot layout {rows},{columns} title {_quoted(title)}\n", *(f"set linetype {i + 1} lc rgb '#{c}'\n" for i, c in enumerate(COLOURS)),
           f"set linetype cycle {len(COLOURS)}\n"]
    for metric, entry in metrics.items():
        points = sorted({x for s in entry["stacks"].values() for x in s["points"]})
        out += ["reset\nset grid\nset key top left\n", f"set title {_quoted(metric)}\n",
                f"set ylabel {_quoted(entry['unit'])}\n", *_blocks(entry)]
        out += _bars(entry, points[0]) if len(points) == 1 else _curves(entry, points)
    out.append("unset multiplot\n")
    return "".join(out)


def draw(metrics, title, png):
    """Writes the picture to `png`."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "picture.gp"
        program.write_text(script(metrics, title, png), encoding="utf-8")
        try:
            done = subprocess.run(["gnuplot", str(program)], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise PictureError("gnuplot is not installed") from None
    if done.returncode != 0:
        raise PictureError(f"gnuplot: {done.stderr.strip()}")
