"""Cablings, layout, scales and numbers: what keeps the drawings right for racks that nobody tried."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.report.cabling import order, shape
from training.report.model import CableRow
from training.report.plot_svg import linear_ticks, log_ticks
from training.report.rack_layout import NODE_HEIGHT, NODE_WIDTH, Box, lay_out
from training.report.scale import step
from training.report.units import duration, significant, size

Pairs = Sequence[tuple[int, int]]


def cables(pairs: Pairs, rate: float = 20.0) -> list[CableRow]:
    return [
        {
            "a": f"m{a}",
            "a_port": position * 2 + 1,
            "b": f"m{b}",
            "b_port": position * 2 + 2,
            "gbit_s_ab": rate,
            "gbit_s_ba": rate,
            "rtt_ms": 0.1,
            "mtu": 9000,
            "error": None,
        }
        for position, (a, b) in enumerate(pairs)
    ]


def names(count: int) -> list[str]:
    return [f"m{index}" for index in range(count)]


def ring(count: int) -> Pairs:
    return [(index, (index + 1) % count) for index in range(count)]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], None),
        ([(0, 1)], "line"),
        ([(0, 1), (0, 1)], "line"),
        ([(0, 1), (1, 2)], "line"),
        (ring(3), "ring"),
        (ring(6), "ring"),
        ([(0, 1), (0, 2), (0, 3)], "star"),
        (list(itertools.combinations(range(4), 2)), "full mesh"),
        ([*ring(4), (0, 2)], "mesh"),
        ([(0, 1), (2, 3)], "mesh"),
        ([*ring(3), (3, 4), (4, 5), (5, 3)], "mesh"),
    ],
)
def test_shape_of_a_cabling(pairs: Pairs, expected: str | None) -> None:
    assert shape(cables(pairs)) == expected


def test_neighbours_stand_side_by_side() -> None:
    assert order(names(4), cables([(0, 2), (2, 1), (1, 3), (3, 0)])) == ["m0", "m2", "m1", "m3"]
    assert order(names(3), cables([(0, 1), (0, 2)])) == ["m1", "m0", "m2"]
    assert order(names(4), cables([(2, 0), (2, 1), (2, 3)]))[0] == "m2"


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("kind", ["line", "ring", "star", "mesh", "none", "head apart"])
def test_no_node_covers_another_or_leaves_the_drawing(count: int, kind: str) -> None:
    pairs: Pairs = {
        "line": [(index, index + 1) for index in range(count - 1)],
        "ring": ring(count) if count > 2 else [(0, 1)],
        "star": [(0, index) for index in range(1, count)],
        "mesh": list(itertools.combinations(range(count), 2)),
        "none": [],
        "head apart": [(0, 1)],
    }[kind]
    layout = lay_out(names(count), cables(pairs))
    assert set(layout.nodes) == set(names(count))
    boxes = [Box(point.x, point.y, NODE_WIDTH, NODE_HEIGHT) for point in layout.nodes.values()]
    for one, other in itertools.combinations(boxes, 2):
        assert one.overlap(other) == 0
    for box in boxes:
        assert box.width / 2 <= box.x <= layout.width - box.width / 2
        assert box.height / 2 <= box.y <= layout.height - box.height / 2


@pytest.mark.parametrize("pairs", [ring(3), ring(8), [(0, 1), (0, 1)], [(0, 1), (1, 2)]])
def test_labels_of_simple_cablings_do_not_touch(pairs: Pairs) -> None:
    count = max(max(pair) for pair in pairs) + 1
    labels = [wire.label for wire in lay_out(names(count), cables(pairs)).wires]
    for one, other in itertools.combinations(labels, 2):
        assert abs(one.x - other.x) > 136 or abs(one.y - other.y) > 40


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0, "s1"), (4.99, "s1"), (5, "s2"), (10, "s3"), (39.9, "s4"), (40, "s5"), (80, "s5")],
)
def test_step_of_the_scale(rate: float, expected: str) -> None:
    found = step(cables([(0, 1)], rate)[0])
    assert found is not None and found.name == expected


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_linear_ticks_enclose_and_are_few(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = linear_ticks(low, high)
    assert ticks == sorted(set(ticks))
    assert 2 <= len(ticks) <= 8
    assert ticks[0] <= low * (1 + 1e-6) and ticks[-1] >= high * (1 - 1e-6)


@given(st.floats(1e-7, 1e7), st.floats(1e-7, 1e7))
def test_log_ticks_begin_below_and_reach_the_last_power(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = log_ticks(low, high)
    assert ticks == sorted(set(ticks))
    assert len(ticks) >= 2
    assert ticks[0] <= low * (1 + 1e-6)
    assert ticks[-1] * 10 > high


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0, 3, "0"),
        (1.2345, 3, "1.23"),
        (0.01234, 3, "0.0123"),
        (999.96, 3, "1\u202f000"),
        (25728.4, 3, "25\u202f728"),
        (-4.5678, 3, "-4.57"),
        (0.06, 2, "0.060"),
        (None, 3, "\u2013"),
    ],
)
def test_significant_digits(value: float | None, digits: int, expected: str) -> None:
    assert significant(value, digits) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(2.1e-4, "210 \u00b5s"), (0.0748, "74.8 ms"), (93.1, "93.1 s"), (754, "12 min 34 s"), (None, "\u2013")],
)
def test_durations(seconds: float | None, expected: str) -> None:
    assert duration(seconds) == expected


def test_sizes() -> None:
    assert [size(4096), size(1 << 26), size(1000)] == ["4 KiB", "64 MiB", "1000 B"]
