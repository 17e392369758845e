"""The drawing of the rack: machines, cables coloured by what was measured, and what that was."""

from __future__ import annotations

from collections.abc import Sequence

from training.report import notes
from training.report.model import CableRow, NodeRow, ReportData
from training.report.rack_layout import (
    LABEL_HEIGHT,
    LABEL_WIDTH,
    MARGIN,
    NODE_HEIGHT,
    NODE_WIDTH,
    Layout,
    Point,
    Wire,
    lay_out,
)
from training.report.scale import STEPS, step
from training.report.svg import element, escape, number, shorten, text
from training.report.templates import template
from training.report.units import NONE, plural, significant

LEGEND_HEIGHT = 44.0
_LEGEND_ENTRY = 80.0
_LEGEND_TITLE = 52.0
# https://support.apple.com/en-us/102852 (Mac mini) and https://support.apple.com/en-us/102231 (Mac Studio)
STUDIOS = ("Mac13,1", "Mac13,2", "Mac14,13", "Mac14,14", "Mac15,14", "Mac16,9")


def rack_svg(report: ReportData) -> str:
    """The drawing as one SVG document that needs nothing else and follows light and dark."""
    nodes = report["fabric"]["nodes"] or _this_machine(report)
    cables = report["fabric"]["cables"]
    layout = lay_out([node["name"] for node in nodes], cables)
    width = max(layout.width, _legend_width(len(STEPS) + 1) + 2 * MARGIN) if cables else layout.width
    shift = (width - layout.width) / 2
    failed = any(step(cable) is None for cable in cables)
    height = layout.height + (LEGEND_HEIGHT if cables else 0)
    drawing = [
        *(_wire(wire) for wire in layout.wires),
        *(_node(node, layout.nodes[node["name"]], report) for node in nodes),
        *(_plugs(wire) for wire in layout.wires),
        *(_label(wire) for wire in layout.wires),
        _apart(layout) if cables else "",
    ]
    return element(
        "svg",
        element("title", escape(f"The rack: {notes.who(report)}"), id="rk-title")
        + element("desc", escape(_description(nodes, cables)), id="rk-desc")
        + element("style", template("rack.css"))
        + element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=14, class_="rk-bg")
        + element("g", "".join(drawing), transform=f"translate({number(shift)} 0)")
        + (_legend(width, layout.height, failed=failed) if cables else ""),
        xmlns="http://www.w3.org/2000/svg",
        class_="rk",
        role="img",
        aria_labelledby="rk-title rk-desc",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
    )


def _this_machine(report: ReportData) -> list[NodeRow]:
    return [
        {
            "name": f"rank {rank}",
            "role": "mac",
            "model": None,
            "chip": "this machine",
            "fabric_address": "127.0.0.1",
        }
        for rank in range(notes.ranks(report))
    ]


def _description(nodes: Sequence[NodeRow], cables: Sequence[CableRow]) -> str:
    machines = ", ".join(node["name"] for node in nodes)
    lines = [
        f"{cable['a']} port {cable['a_port']} to {cable['b']} port {cable['b_port']}: "
        + (
            f"failed, {cable['error']}"
            if cable["error"]
            else f"{significant(cable['gbit_s_ab'])} and {significant(cable['gbit_s_ba'])} gigabit a second, "
            f"round trip {significant(cable['rtt_ms'], 2)} milliseconds"
        )
        for cable in cables
    ]
    return f"Machines: {machines}. " + (f"Cables: {'; '.join(lines)}." if lines else "No Thunderbolt cable.")


def _wire(wire: Wire) -> str:
    path = (
        f"M{number(wire.start.x)} {number(wire.start.y)}"
        f"Q{number(wire.bend.x)} {number(wire.bend.y)} {number(wire.end.x)} {number(wire.end.y)}"
    )
    found = step(wire.cable)
    width = found.width if found else 4
    # The halo keeps crossing cables apart.
    return element("path", d=path, class_="rk-halo", stroke_width=width + 6) + element(
        "path", d=path, class_=f"rk-wire {_class(wire)}", stroke_width=width
    )


def _class(wire: Wire) -> str:
    found = step(wire.cable)
    return f"rk-{found.name}" if found else "rk-fail"


def _plugs(wire: Wire) -> str:
    ends = ((wire.start, wire.cable["a_port"]), (wire.end, wire.cable["b_port"]))
    return "".join(
        element("circle", cx=point.x, cy=point.y, r=9.5, class_=f"rk-plug {_class(wire)}")
        + text(str(port), point.x, point.y + 4, text_anchor="middle", class_="rk-port")
        for point, port in ends
    )


def _label(wire: Wire) -> str:
    cable, point = wire.cable, wire.label
    box = element(
        "rect",
        x=point.x - LABEL_WIDTH / 2,
        y=point.y - LABEL_HEIGHT / 2,
        width=LABEL_WIDTH,
        height=LABEL_HEIGHT,
        rx=9,
        class_="rk-pill",
    )
    if step(cable) is None:
        lines = [("failed", "rk-fail-text"), (shorten(cable["error"] or "no number", 23), "rk-sub")]
    else:
        lines = [
            (_rates(wire), "rk-rate"),
            (f"Gbit/s \N{MIDDLE DOT} {significant(cable['rtt_ms'], 2)} ms", "rk-num"),
        ]
    written = "".join(
        text(content, point.x, point.y - 4 + 16.5 * row, text_anchor="middle", class_=style)
        for row, (content, style) in enumerate(lines)
    )
    tip = element("title", escape(_description_of(cable)))
    return element("g", tip + box + written)


def _rates(wire: Wire) -> str:
    """Both directions, with arrows that point as the traffic flows in the drawing."""
    dx, dy = wire.end.x - wire.start.x, wire.end.y - wire.start.y
    forth, back = wire.cable["gbit_s_ab"], wire.cable["gbit_s_ba"]
    if abs(dx) * 2 < abs(dy):
        down, up = (forth, back) if dy > 0 else (back, forth)
        return f"\N{DOWNWARDS ARROW} {significant(down)}\N{EM SPACE}\N{UPWARDS ARROW} {significant(up)}"
    right, left = (forth, back) if dx > 0 else (back, forth)
    return f"\N{LEFTWARDS ARROW} {significant(left)}\N{EM SPACE}{significant(right)} \N{RIGHTWARDS ARROW}"


def _description_of(cable: CableRow) -> str:
    title = f"{cable['a']} port {cable['a_port']} to {cable['b']} port {cable['b_port']}"
    return f"{title}: {cable['error']}" if cable["error"] else f"{title}, MTU {cable['mtu'] or NONE}"


def _node(node: NodeRow, centre: Point, report: ReportData) -> str:
    left, top = centre.x - NODE_WIDTH / 2, centre.y - NODE_HEIGHT / 2
    # Every chip of a Mac is Apple's, and the box is narrow.
    chip = (node["chip"] or "").removeprefix("Apple ")
    model = " \N{MIDDLE DOT} ".join(part for part in (chip, node["model"]) if part)
    if node["role"] == "head":
        model = model or "Linux head"
    return element(
        "g",
        element(
            "title",
            escape(f"{node['name']}: {model or node['role']}, {node['fabric_address'] or 'no fabric'}"),
        )
        + element("rect", x=left, y=top, width=NODE_WIDTH, height=NODE_HEIGHT, rx=12, class_="rk-node")
        + _glyph(node, centre.x, top + 12)
        + text(shorten(node["name"], 16), centre.x, top + 71, text_anchor="middle", class_="rk-name")
        + text(shorten(model, 23), centre.x, top + 87, text_anchor="middle", class_="rk-sub")
        + text(node["fabric_address"] or "", centre.x, top + 103, text_anchor="middle", class_="rk-num"),
    )


def _glyph(node: NodeRow, x: float, top: float) -> str:
    """The front of the machine, its foot 42 below `top`."""
    foot = top + 42
    if node["role"] == "head":
        return _server(x, foot)
    return _studio(x, foot) if node["model"] in STUDIOS else _mini(x, foot)


def _mini(x: float, foot: float) -> str:
    return (
        element("rect", x=x - 29, y=foot - 24, width=58, height=22, rx=6, class_="rk-metal")
        + element("path", d=f"M{number(x - 18)} {number(foot)}h36", class_="rk-slot")
        + element(
            "path",
            d=f"M{number(x - 19)} {number(foot - 13)}h6M{number(x - 8)} {number(foot - 13)}h6",
            class_="rk-slot",
        )
        + element("circle", cx=x + 20, cy=foot - 13, r=2, class_="rk-led")
    )


def _studio(x: float, foot: float) -> str:
    return (
        element("rect", x=x - 29, y=foot - 39, width=58, height=37, rx=6, class_="rk-metal")
        + element("path", d=f"M{number(x - 18)} {number(foot)}h36", class_="rk-slot")
        + element(
            "path",
            d=f"M{number(x - 19)} {number(foot - 12)}h6m5 0h6m5 0h9",
            class_="rk-slot",
        )
        + element("circle", cx=x + 21, cy=foot - 12, r=2, class_="rk-led")
    )


def _server(x: float, foot: float) -> str:
    units = []
    for row in range(3):
        top = foot - 40 + row * 14
        units.append(
            element("rect", x=x - 33, y=top, width=66, height=11, rx=2.5, class_="rk-metal")
            + element("path", d=f"M{number(x - 25)} {number(top + 5.5)}h26", class_="rk-slot")
            + element("circle", cx=x + 25, cy=top + 5.5, r=2, class_="rk-led")
        )
    return "".join(units)


def _apart(layout: Layout) -> str:
    if layout.apart_y is None:
        return ""
    y = layout.apart_y
    return element(
        "path", d=f"M{number(MARGIN)} {number(y - 14)}H{number(layout.width - MARGIN)}", class_="rk-rule"
    ) + text(
        "no Thunderbolt cable: reached over the management network",
        layout.width / 2,
        y + 6,
        text_anchor="middle",
        class_="rk-sub",
    )


def _legend(width: float, top: float, *, failed: bool) -> str:
    y = top + 12
    entries: list[tuple[str, str, float]] = [(f"rk-{one.name}", one.label, one.width) for one in STEPS]
    if failed:
        entries.append(("rk-fail", "failed", 4))
    x = (width - _legend_width(len(entries))) / 2
    parts = [text("Gbit/s", x, y + 4, class_="rk-sub")]
    x += _LEGEND_TITLE
    for style, label, thick in entries:
        parts.append(
            element("path", d=f"M{number(x)} {number(y)}h22", class_=f"rk-wire {style}", stroke_width=thick)
            + text(label, x + 30, y + 4, class_="rk-num")
        )
        x += _LEGEND_ENTRY
    return element("g", "".join(parts), aria_hidden="true")


def _legend_width(entries: int) -> float:
    return _LEGEND_TITLE + _LEGEND_ENTRY * entries


def describe(report: ReportData) -> str:
    """The caption under the drawing."""
    if report["this_machine_only"]:
        return "This machine only: no rack was measured, the ranks talk over the loopback."
    if not report["fabric"]["cables"]:
        return "No Thunderbolt cable is declared."
    failed = sum(1 for cable in report["fabric"]["cables"] if cable["error"])
    failures = f" {plural(failed, 'cable')} failed." if failed else ""
    return (
        "Colour and width: the slower direction of each cable, on one fixed scale. Arrows: Gbit/s that way; "
        f"below them the round trip. Circles: Thunderbolt ports.{failures}"
    )
