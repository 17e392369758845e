"""Where nodes, cables and labels of the rack drawing stand. Pure geometry, in SVG's units and axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from training.report.cabling import order, shape
from training.report.model import CableRow

NODE_WIDTH, NODE_HEIGHT = 148.0, 118.0
LABEL_WIDTH, LABEL_HEIGHT = 136.0, 40.0
MARGIN = 28.0
_GAP = 206.0
"""Between neighbours on a line: room for a label and the ports."""
_STAR_RADIUS = 300.0
"""From the hub, which is a node itself, to the others."""
_PARALLEL = 30.0
"""Between two cables that join the same nodes."""


@dataclass(frozen=True)
class Point:
    """A point."""

    x: float
    y: float


@dataclass(frozen=True)
class Box:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Box) -> float:
        """The area that both cover."""
        wide = (self.width + other.width) / 2 - abs(self.x - other.x)
        high = (self.height + other.height) / 2 - abs(self.y - other.y)
        return wide * high if wide > 0 and high > 0 else 0.0


@dataclass(frozen=True)
class Wire:
    """One cable as a quadratic curve between the borders of two nodes."""

    cable: CableRow
    start: Point
    bend: Point
    end: Point
    label: Point

    def at(self, share: float) -> Point:
        """The point at a share (0 to 1) of the way."""
        rest = 1 - share
        return Point(
            rest * rest * self.start.x + 2 * rest * share * self.bend.x + share * share * self.end.x,
            rest * rest * self.start.y + 2 * rest * share * self.bend.y + share * share * self.end.y,
        )


@dataclass(frozen=True)
class Layout:
    """The drawing without ink: its size, nodes by name, wires, and the row of nodes without a cable."""

    width: float
    height: float
    nodes: dict[str, Point]
    wires: list[Wire]
    apart_y: float | None


def lay_out(names: Sequence[str], cables: Sequence[CableRow]) -> Layout:
    """Places every node: those with a cable by the cabling, the others in a row below."""
    cabled = _place_cabled(order(names, cables), shape(cables), len(cables))
    apart = [name for name in names if name not in cabled]
    width = max((point.x for point in cabled.values()), default=0.0) + NODE_WIDTH / 2
    bottom = max((point.y for point in cabled.values()), default=-NODE_HEIGHT) + NODE_HEIGHT / 2
    width = max(width, len(apart) * (NODE_WIDTH + MARGIN) - MARGIN, 2 * NODE_WIDTH + _GAP)
    shift = (width - max((point.x for point in cabled.values()), default=0.0) - NODE_WIDTH / 2) / 2
    nodes = {name: Point(point.x + shift + MARGIN, point.y + MARGIN) for name, point in cabled.items()}
    apart_y = None
    if apart:
        apart_y = bottom + MARGIN + (52 if cabled else 24)
        begin = (width - len(apart) * (NODE_WIDTH + MARGIN) + MARGIN) / 2 + MARGIN + NODE_WIDTH / 2
        for position, name in enumerate(apart):
            nodes[name] = Point(begin + position * (NODE_WIDTH + MARGIN), apart_y + 24 + NODE_HEIGHT / 2)
        bottom = apart_y + 24 + NODE_HEIGHT - MARGIN
    wires = _label(_wires(nodes, cables), nodes)
    return Layout(width + 2 * MARGIN, bottom + 2 * MARGIN, nodes, wires, apart_y)


def _place_cabled(names: Sequence[str], kind: str | None, cables: int) -> dict[str, Point]:
    """Boxes of the nodes by their centres, the leftmost and topmost box touching the axes."""
    count = len(names)
    if not names:
        return {}
    if kind == "line":
        step = NODE_WIDTH + _GAP
        per_row = count if count < 4 else 3
        points = [_snake(index, per_row, step) for index in range(count)]
    elif kind == "star":
        points = [Point(0, 0), *_circle(count - 1, max(_STAR_RADIUS, _radius(count - 1)))]
    else:
        # Chords need room for their labels too.
        crowd = math.sqrt(max(1.0, cables / (1.6 * count)))
        points = _circle(count, _radius(count) * crowd)
    left = min(point.x for point in points) - NODE_WIDTH / 2
    top = min(point.y for point in points) - NODE_HEIGHT / 2
    return {name: Point(point.x - left, point.y - top) for name, point in zip(names, points, strict=True)}


def _snake(index: int, per_row: int, step: float) -> Point:
    row, column = divmod(index, per_row)
    return Point((column if row % 2 == 0 else per_row - 1 - column) * step, row * (NODE_HEIGHT + 90))


def _radius(count: int) -> float:
    """So large that neighbours on the circle leave room for a label between them."""
    return max(205.0, (NODE_WIDTH + 170) / (2 * math.sin(math.pi / count))) if count > 1 else 0.0


def _circle(count: int, radius: float) -> list[Point]:
    """From the top, clockwise, wider than high; an even count stands on a flat side."""
    start = -math.pi / 2 - (math.pi / count if count % 2 == 0 else 0)
    angles = [start + 2 * math.pi * index / count for index in range(count)]
    return [Point(radius * 1.18 * math.cos(angle), radius * 0.92 * math.sin(angle)) for angle in angles]


def _wires(nodes: dict[str, Point], cables: Sequence[CableRow]) -> list[Wire]:
    wires = []
    for position, cable in enumerate(cables):
        pair = {cable["a"], cable["b"]}
        twins = [index for index, other in enumerate(cables) if {other["a"], other["b"]} == pair]
        offset = (twins.index(position) - (len(twins) - 1) / 2) * _PARALLEL * 2
        # Offsets are taken along one fixed direction, whichever end the cable names first.
        first, second = sorted((cable["a"], cable["b"]))
        wires.append(_wire(cable, nodes[cable["a"]], nodes[cable["b"]], _normal(nodes[first], nodes[second]), offset))
    return wires


def _normal(start: Point, end: Point) -> Point:
    length = math.hypot(end.x - start.x, end.y - start.y) or 1.0
    return Point(-(end.y - start.y) / length, (end.x - start.x) / length)


def _wire(cable: CableRow, a: Point, b: Point, normal: Point, offset: float) -> Wire:
    moved = [Point(point.x + normal.x * offset / 2, point.y + normal.y * offset / 2) for point in (a, b)]
    start, end = _border(moved[0], moved[1], a), _border(moved[1], moved[0], b)
    bend = Point((start.x + end.x) / 2 + normal.x * offset, (start.y + end.y) / 2 + normal.y * offset)
    return Wire(cable, start, bend, end, Point(0, 0))


def _border(start: Point, towards: Point, centre: Point) -> Point:
    """Where the way from inside a node's box to another point leaves the box."""
    dx, dy = towards.x - start.x, towards.y - start.y
    shares = [1.0]
    if dx:
        shares.append((centre.x + math.copysign(NODE_WIDTH / 2, dx) - start.x) / dx)
    if dy:
        shares.append((centre.y + math.copysign(NODE_HEIGHT / 2, dy) - start.y) / dy)
    share = min(value for value in shares if value >= 0)
    return Point(start.x + dx * share, start.y + dy * share)


def _label(wires: Sequence[Wire], nodes: dict[str, Point]) -> list[Wire]:
    """Puts each label where it covers least of nodes and other labels, nearest the middle of its cable."""
    taken = [Box(point.x, point.y, NODE_WIDTH + 20, NODE_HEIGHT + 20) for point in nodes.values()]
    placed = []
    for wire in wires:
        boxes = [
            Box(point.x, point.y, LABEL_WIDTH + 6, LABEL_HEIGHT + 6)
            for point in (wire.at(0.5 + side * step / 50) for step in range(16) for side in (1, -1))
        ]
        best = min(boxes, key=lambda box: sum(box.overlap(other) for other in taken))
        taken.append(best)
        placed.append(Wire(wire.cable, wire.start, wire.bend, wire.end, Point(best.x, best.y)))
    return placed
