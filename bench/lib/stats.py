# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Medians, spread, and ratios of measurements that were taken turn about.

import dataclasses
import math
import random
import statistics

RESAMPLES = 1000
LEVEL = 0.95
SEED = 20261121  # the same data give the same interval


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate and the bounds of its bootstrap interval."""

    point: float
    low: float
    high: float


def summary(values):
    """n, median, MAD (median absolute deviation), least and greatest."""
    middle = statistics.median(values)
    return {"n": len(values), "median": middle, "mad": statistics.median(abs(v - middle) for v in values),
            "min": min(values), "max": max(values)}


def _turn_ratios(left, right):
    """Ratios turn by turn, or None where a ratio has no meaning: a missing turn, a value that is not positive."""
    if not left or len(left) != len(right) or min(left) <= 0 or min(right) <= 0:
        return None
    return [a / b for a, b in zip(left, right)]


def _geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def _bounds(samples):
    samples = sorted(samples)
    cut = (1 - LEVEL) / 2
    return samples[int(cut * (len(samples) - 1))], samples[math.ceil((1 - cut) * (len(samples) - 1))]


def ratios(left, right):
    """Compares two stacks over the points that both have.

    left, right: {point: [value of each turn]}. The ratio at a point is the median of the ratios within each turn, so a
    slow minute of the machine, which slows both, cancels. The bootstrap draws whole turns, the same for all points.
    Returns ({point: Interval}, Interval of the geometric mean over the points, or None if no point can be compared).
    """
    pairs = {x: _turn_ratios(left[x], right[x]) for x in left if x in right}
    pairs = {x: r for x, r in pairs.items() if r is not None}
    if not pairs:
        return {}, None
    chance = random.Random(SEED)
    turns = min(len(r) for r in pairs.values())
    drawn = {x: [] for x in pairs}
    means = []
    for _ in range(RESAMPLES):
        pick = [chance.randrange(turns) for _ in range(turns)]
        medians = {x: statistics.median(r[t] for t in pick) for x, r in pairs.items()}
        for x, value in medians.items():
            drawn[x].append(value)
        means.append(_geomean(medians.values()))
    points = {x: Interval(statistics.median(r), *_bounds(drawn[x])) for x, r in pairs.items()}
    return points, Interval(_geomean([p.point for p in points.values()]), *_bounds(means))


def interval(values):
    """The median of one stack's turns with its bootstrap interval."""
    chance = random.Random(SEED)
    drawn = [statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)]
    return Interval(statistics.median(values), *_bounds(drawn))
