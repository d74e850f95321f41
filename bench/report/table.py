# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The comparison as tables for people and as a structure for JSON.

import dataclasses

from lib import stats


def is_share(unit):
    """Shares may be zero or negative: they are compared by difference, not by ratio."""
    return unit == "share"


def point_name(metric_points, x):
    """Sizes read as 64 KB; a lone point zero has no size."""
    if x == 0 and len(metric_points) == 1:
        return "-"
    for factor, name in ((1 << 20, " MB"), (1 << 10, " KB")):
        if x >= factor and x % factor == 0:
            return f"{x / factor:g}{name}"
    return f"{x:g}"


def compare(values, units, baseline):
    """{metric: {unit, better, stacks: {stack: {points: {x: row}, geomean}}}}; rows hold summary and ratio."""
    metrics = {}
    order = []
    for per_metric in values.values():
        order += [m for m in per_metric if m not in order]
    for metric in order:
        unit, better = units[metric]
        entry = {"unit": unit, "better": better, "stacks": {}}
        base = values.get(baseline, {}).get(metric, {})
        for stack, per_metric in values.items():
            data = per_metric.get(metric, {})
            ratios, mean = ({}, None) if is_share(unit) else stats.ratios(data, base)
            rows = {}
            for x, turns in sorted(data.items()):
                rows[x] = stats.summary(turns)
                rows[x]["values"] = turns
                if x in ratios:
                    rows[x]["ratio"] = dataclasses.asdict(ratios[x])
                elif is_share(unit) and x in base:
                    rows[x]["difference"] = rows[x]["median"] - stats.summary(base[x])["median"]
            entry["stacks"][stack] = {"points": rows, "geomean": dataclasses.asdict(mean) if mean else None}
        metrics[metric] = entry
    return metrics


def _number(value):
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"


def _against(row):
    if "ratio" in row:
        r = row["ratio"]
        return f"{r['point']:.3f} [{r['low']:.3f}, {r['high']:.3f}]"
    if "difference" in row:
        return f"{row['difference']:+.3f}"
    return ""


def _lines_of_metric(metric, entry, baseline):
    yield f"{metric}, {entry['unit']} ({entry['better']} is better); last column: against {baseline}, 95 % interval"
    names = list(entry["stacks"])
    width = max(map(len, names))
    yield f"  {'':>8}  {'':{width}}  {'n':>3} {'median':>9} {'MAD':>9} {'min':>9} {'max':>9}  ratio"
    points = sorted({x for s in entry["stacks"].values() for x in s["points"]})
    for x in points:
        label = point_name(points, x)
        for name in names:
            row = entry["stacks"][name]["points"].get(x)
            if row is None:
                continue
            numbers = " ".join(f"{_number(row[k]):>9}" for k in ("median", "mad", "min", "max"))
            yield f"  {label:>8}  {name:{width}}  {row['n']:>3} {numbers}  {_against(row)}".rstrip()
            label = ""
    for name in names:
        mean = entry["stacks"][name]["geomean"]
        if mean and name != baseline and len(points) > 1:
            yield (f"  {'geomean':>8}  {name:{width}}  {mean['point']:.3f} "
                   f"[{mean['low']:.3f}, {mean['high']:.3f}] x {baseline}")


def text(metrics, baseline):
    """The tables."""
    return "\n\n".join("\n".join(_lines_of_metric(m, e, baseline)) for m, e in metrics.items())


def counter_lines(counters):
    """Linnet's counters that are not zero, for each thousand messages: median over the jobs."""
    for stack, named in counters.items():
        values = {name: stats.summary(points[0])["median"] for name, points in named.items()}
        shown = [f"{name.removeprefix('counter ')} {_number(value)}" for name, value in values.items() if value > 0]
        if shown:
            yield f"  {stack}: " + ", ".join(shown)


def path_lines(facts):
    """What the counters saw, for each stack, summed over the turns."""
    for stack, turns in facts.items():
        total = {k: sum(t[k] for t in turns) for k in ("payload", "crossing", "eth0", "lo")}
        carried = {}
        for turn in turns:
            for transport, count in turn["linnet"].items():
                carried[transport] = carried.get(transport, 0) + count
        shares = "".join(f", linnet {t} {100 * c / max(1, sum(carried.values())):.1f} %" for t, c in carried.items())
        yield (f"  {stack}: payload {total['payload'] / 1e6:.1f} MB, between hosts {total['crossing'] / 1e6:.1f} MB; eth0 "
               f"sent {total['eth0'] / 1e6:.1f} MB, lo {total['lo'] / 1e6:.1f} MB{shares}")
