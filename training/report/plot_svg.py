"""Line plots as SVG. Pure: values in, markup out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training.report.svg import element, escape, number, text

WIDTH, HEIGHT = 480.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 28.0, 34.0, 48.0
_MOST_TICKS = 6
MARKS = ("circle", "square")
"""By position of the series: shapes tell the lines apart where colours do not."""


@dataclass(frozen=True)
class Series:
    """One line. At most two in a plot, which have colours and marks of their own."""

    label: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        label: What is along it, with the unit.
        shown: How a value is written.
        log: Whether steps are factors.
        ticks: Where the marks are; chosen from the values if empty.
        floor: A value that is in the range whatever the data.
    """

    label: str
    shown: Callable[[float], str]
    log: bool = False
    ticks: Sequence[float] = ()
    floor: float | None = None


def line_plot(name: str, title: str, series: Sequence[Series], x: Axis, y: Axis) -> str:
    """A plot.

    Args:
        name: Unique in the document, for the ids of title and description.
        title: What it shows.
        series: The lines; those without a point are left out.
        x: The horizontal axis.
        y: The vertical axis.
    """
    drawn = [one for one in series if one.points]
    across = _Range.of([point[0] for one in drawn for point in one.points], x, _LEFT, WIDTH - _RIGHT)
    upward = _Range.of([point[1] for one in drawn for point in one.points], y, HEIGHT - _BOTTOM, _TOP)
    return element(
        "svg",
        element("title", escape(title), id=f"{name}-title")
        + element("desc", escape(_description(drawn, x, y)), id=f"{name}-desc")
        + _grid(across, upward, x, y)
        + "".join(_line(index, one, across, upward, x, y) for index, one in enumerate(drawn))
        + (_legend(drawn) if len(drawn) > 1 else ""),
        xmlns="http://www.w3.org/2000/svg",
        class_="plot",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        viewBox=f"0 0 {number(WIDTH)} {number(HEIGHT)}",
    )


@dataclass(frozen=True)
class _Range:
    """Maps values to pixels."""

    low: float
    high: float
    begin: float
    end: float
    log: bool
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], axis: Axis, begin: float, end: float) -> _Range:
        # A logarithm has no place for zero or less.
        wanted = [value for value in values if value > 0 or not axis.log]
        if axis.floor is not None:
            wanted.append(axis.floor)
        low, high = (min(wanted), max(wanted)) if wanted else (1.0, 10.0)
        if axis.ticks:
            ticks = tuple(axis.ticks)
        else:
            ticks = tuple(log_ticks(low, high) if axis.log else linear_ticks(low, high))
        low, high = min(low, ticks[0]), max(high, ticks[-1])
        if low == high:
            low, high = (low / 2, high * 2) if axis.log else (low - 0.5, high + 0.5)
        return cls(low, high, begin, end, axis.log, ticks)

    def at(self, value: float) -> float:
        low, high = self._scaled(self.low), self._scaled(self.high)
        return self.begin + (self._scaled(value) - low) / (high - low) * (self.end - self.begin)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.log else value


def linear_ticks(low: float, high: float) -> list[float]:
    """Round values in steps of 1, 2 or 5 that enclose the range, about six of them."""
    # Values that differ by less than rounding are one value, which needs a scale all the same.
    width = high - low if high - low > 1e-6 * abs(high) else abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(width / (_MOST_TICKS - 1)))
    step = next(factor * power for factor in (1, 2, 5, 10) if width / (factor * power) <= _MOST_TICKS - 1)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    return [index * step for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from below a range to its end; with 2 and 5 between them where those are few.

    Many powers do not enclose the upper end: a whole empty decade says nothing.
    """
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    if last - first > 2:
        return [10.0**power for power in range(first, last + 1) if 10.0**power <= high * (1 + 1e-9)]
    fine = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    begin = max(index for index, value in enumerate(fine) if value <= low * (1 + 1e-9))
    end = min(index for index, value in enumerate(fine) if value >= high * (1 - 1e-9))
    return fine[begin : max(end, begin + 1) + 1]


def _grid(across: _Range, upward: _Range, x: Axis, y: Axis) -> str:
    left, right, top, bottom = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM
    parts = []
    for value in upward.ticks:
        height = upward.at(value)
        parts.append(element("path", d=f"M{number(left)} {number(height)}H{number(right)}", class_="plot-grid"))
        parts.append(text(y.shown(value), left - 8, height + 4, text_anchor="end", class_="plot-tick"))
    for value in across.ticks:
        place = across.at(value)
        parts.append(element("path", d=f"M{number(place)} {number(bottom)}v5", class_="plot-axis"))
        parts.append(text(x.shown(value), place, bottom + 19, text_anchor="middle", class_="plot-tick"))
    parts.append(element("path", d=f"M{number(left)} {number(bottom)}H{number(right)}", class_="plot-axis"))
    parts.append(text(x.label, (left + right) / 2, HEIGHT - 8, text_anchor="middle", class_="plot-label"))
    parts.append(text(y.label, 4, top - 18, class_="plot-label"))
    return "".join(parts)


def _line(index: int, series: Series, across: _Range, upward: _Range, x: Axis, y: Axis) -> str:
    places = [(across.at(point[0]), upward.at(point[1])) for point in series.points]
    path = "M" + "L".join(f"{number(place[0])} {number(place[1])}" for place in places)
    marks = [
        _mark(index, place, f"{series.label}: {x.shown(point[0])}, {y.shown(point[1])}")
        for place, point in zip(places, series.points, strict=True)
    ]
    return element("g", element("path", d=path, class_="plot-line") + "".join(marks), class_=f"plot-series-{index}")


def _mark(index: int, place: tuple[float, float], tip: str | None = None) -> str:
    inner = element("title", escape(tip)) if tip else None
    if MARKS[index % len(MARKS)] == "circle":
        return element("circle", inner, cx=place[0], cy=place[1], r=3.4, class_="plot-mark")
    return element("rect", inner, x=place[0] - 3.2, y=place[1] - 3.2, width=6.4, height=6.4, class_="plot-mark")


def _legend(series: Sequence[Series]) -> str:
    parts = []
    x = WIDTH - _RIGHT - 110.0 * len(series)
    for index, one in enumerate(series):
        line = element("path", d=f"M{number(x)} {number(_TOP - 22)}h26", class_="plot-line")
        label = text(one.label, x + 33, _TOP - 18, class_="plot-tick")
        parts.append(element("g", line + _mark(index, (x + 13, _TOP - 22)) + label, class_=f"plot-series-{index}"))
        x += 110
    return "".join(parts)


def _description(series: Sequence[Series], x: Axis, y: Axis) -> str:
    lines = [
        f"{one.label}: from {y.shown(one.points[0][1])} at {x.shown(one.points[0][0])} "
        f"to {y.shown(one.points[-1][1])} at {x.shown(one.points[-1][0])}"
        for one in series
    ]
    return f"{y.label} over {x.label}. {'; '.join(lines) or 'No data'}."
