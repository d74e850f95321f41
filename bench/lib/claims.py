# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Claims about a comparison, such as 'linnet-tcp<=0.95*btl_tcp:geomean:8-64K', and whether they hold.

from __future__ import annotations

import dataclasses
import math
import re
import statistics

from . import stats

GRAMMAR = """LEFT OP RIGHT:STATISTIC[:RANGE[:METRIC]]
  LEFT       STACK or STACK@POINT
  OP         <= or >=
  RIGHT      [FACTOR*]STACK, [FACTOR*]STACK@POINT, or a number in the metric's unit
  STATISTIC  geomean, median or worst, over the points; with -sure (worst-sure) the unfavourable end of the
             bootstrap interval must satisfy the claim, not the estimate alone
  RANGE      points: 8-64K, 2M-, -1K, 16; all if empty
  METRIC     part of the metric's name; it must hold for each metric that matches; the main ones if empty;
             "counter NAME" is Linnet's counter of that name for each 1000 messages"""

_SIDE = r"[A-Za-z][A-Za-z0-9_-]*(?:@[0-9.]+[KMG]?)?"
_CLAIM = re.compile(rf"\s*(?P<left>{_SIDE})\s*(?P<op><=|>=)\s*"
                    rf"(?:(?:(?P<factor>[0-9.]+)\s*\*\s*)?(?P<right>{_SIDE})|(?P<number>-?[0-9.]+))\s*"
                    r":(?P<statistic>[a-z-]+)(?::(?P<range>[^:]*)(?::(?P<metric>.*))?)?$")
COUNTER = "counter "
_STATISTICS = ("geomean", "median", "worst")
_SUFFIX = {"": 1, "K": 1024, "M": 1024 ** 2, "G": 1024 ** 3}


class ClaimError(ValueError):
    """The text is not a claim, or there is no data for it."""


def parse_point(text):
    match = re.fullmatch(r"([0-9.]+)([KMG]?)", text.strip())
    if not match:
        raise ClaimError(f"not a point: {text!r}")
    return float(match[1]) * _SUFFIX[match[2]]


def _parse_range(text):
    if not text:
        return 0.0, math.inf
    low, dash, high = text.partition("-")
    if not dash:
        return parse_point(low), parse_point(low)
    return (parse_point(low) if low.strip() else 0.0), (parse_point(high) if high.strip() else math.inf)


@dataclasses.dataclass(frozen=True)
class Side:
    stack: str
    point: float | None

    @classmethod
    def parse(cls, text):
        stack, at, point = text.partition("@")
        return cls(stack, parse_point(point) if at else None)


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    left: Side
    right: Side | None   # None: RIGHT is the number
    op: str
    bound: float         # factor or number
    statistic: str
    sure: bool
    low: float
    high: float
    metric: str

    @classmethod
    def parse(cls, text):
        match = _CLAIM.match(text)
        if not match:
            raise ClaimError(f"not a claim: {text!r}; expected\n{GRAMMAR}")
        statistic = match["statistic"].removesuffix("-sure")
        if statistic not in _STATISTICS:
            raise ClaimError(f"unknown statistic {match['statistic']!r} in {text!r}; expected\n{GRAMMAR}")
        right = Side.parse(match["right"]) if match["right"] else None
        left = Side.parse(match["left"])
        if right is not None and (left.point is None) != (right.point is None):
            raise ClaimError(f"either both sides name a point or none: {text!r}")
        bound = float(match["number"] if right is None else match["factor"] or 1)
        low, high = _parse_range(match["range"])
        return cls(text, left, right, match["op"], bound, statistic, match["statistic"].endswith("-sure"), low, high,
                   match["metric"] or "")

    @property
    def stacks(self):
        return {side.stack for side in (self.left, self.right) if side}


def _values(data, side, metric):
    try:
        points = data[side.stack][metric]
    except KeyError:
        raise ClaimError(f"no data of stack {side.stack!r} for {metric!r}") from None
    if side.point is None:
        return points
    if side.point not in points:
        raise ClaimError(f"{side.stack} has no point {side.point:g} in {metric!r}")
    return {0.0: points[side.point]}


def _intervals(claim, data, metric):
    """What is held against the bound: {point: Interval}, and the interval of the geometric mean."""
    left = _values(data, claim.left, metric)
    if claim.left.point is None:
        left = {x: v for x, v in left.items() if claim.low <= x <= claim.high}
    if not left:
        raise ClaimError(f"no points of {metric!r} in the range of {claim.text!r}")
    if claim.right is not None:
        right = _values(data, claim.right, metric)
        absent = sorted(set(left) - set(right))
        if absent:
            raise ClaimError(f"{claim.right.stack} has no points {absent} in {metric!r}")
        points, mean = stats.ratios(left, right)
        if set(points) != set(left):
            raise ClaimError(f"{metric!r} has values that are not positive: no ratio; compare with a number")
        return points, mean
    return {x: stats.interval(v) for x, v in left.items()}, None


def _measured(claim, data, metric):
    points, mean = _intervals(claim, data, metric)
    at_most = claim.op == "<="
    ends = {x: (i.high if at_most else i.low) if claim.sure else i.point for x, i in points.items()}
    if claim.statistic == "worst":
        return max(ends.values()) if at_most else min(ends.values())
    if claim.statistic == "median":
        return statistics.median(ends.values())
    if mean is None:
        raise ClaimError(f"a number is compared with median or worst, not with geomean: {claim.text!r}")
    return (mean.high if at_most else mean.low) if claim.sure else mean.point


def select_metrics(available, wanted, main):
    """The metrics that a claim speaks of: those whose names contain `wanted`, else the main ones."""
    if wanted.startswith(COUNTER):
        chosen = [m for m in available if m == wanted]
        available = [m for m in available if m.startswith(COUNTER)]
    elif wanted:
        available = [m for m in available if not m.startswith(COUNTER)]
        exact = [m for m in available if m.lower() == wanted.lower()]
        chosen = exact or [m for m in available if wanted.lower() in m.lower()]
    else:
        available = [m for m in available if not m.startswith(COUNTER)]
        chosen = [m for m in available if m in main] or list(available)
    if not chosen:
        raise ClaimError(f"no metric matches {wanted!r}; there are: {', '.join(available)}")
    return chosen


def evaluate(claim, data, main=()):
    """data: {stack: {metric: {point: [value of each turn]}}}. Returns [{metric, measured, bound, holds}]."""
    if claim.left.stack not in data:
        raise ClaimError(f"no data of stack {claim.left.stack!r}")
    verdicts = []
    for metric in select_metrics(list(data[claim.left.stack]), claim.metric, main):
        measured = _measured(claim, data, metric)
        holds = measured <= claim.bound if claim.op == "<=" else measured >= claim.bound
        verdicts.append({"claim": claim.text, "metric": metric, "measured": measured, "bound": claim.bound,
                         "holds": holds})
    return verdicts
