"""Building blocks of the HTML report: tables, tiles, figures, sections. Text is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from training.report.svg import element, escape


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: What it says.
        style: Classes: `num` for numbers, `bad` or `good` for a verdict, `code` for what a machine reads.
    """

    text: str
    style: str = ""


def num(text: str) -> Cell:
    """A cell with a number, aligned right."""
    return Cell(text, "num")


def table(caption: str, head: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> str:
    """A table whose first column is the header of each row; wide ones scroll by themselves."""
    columns = "".join(element("th", escape(cell.text), scope="col", class_=cell.style or None) for cell in head)
    body = "".join(
        element(
            "tr",
            element("th", escape(row[0].text), scope="row", class_=row[0].style or None)
            + "".join(element("td", escape(cell.text), class_=cell.style or None) for cell in row[1:]),
        )
        for row in rows
    )
    inner = element("caption", escape(caption)) + element("thead", element("tr", columns)) + element("tbody", body)
    # tabindex: whoever has no mouse scrolls it with the arrow keys.
    return element("div", element("table", inner), class_="wide", tabindex="0", role="region", aria_label=caption)


def tile(label: str, value: str, detail: str, verdict: str = "") -> str:
    """A number that stands out; `verdict` is `good`, `bad` or nothing."""
    return element(
        "div",
        element("dt", escape(label))
        + element("dd", escape(value), class_="value")
        + element("dd", escape(detail), class_="detail"),
        class_=f"tile {verdict}".strip(),
    )


def figure(drawing: str, caption: str, style: str = "") -> str:
    """A drawing with its caption."""
    return element(
        "figure",
        element("div", drawing, class_="drawing") + element("figcaption", escape(caption)),
        class_=style or None,
    )


def section(name: str, title: str, *parts: str) -> str:
    """A section with a heading."""
    return element("section", element("h2", escape(title), id=name) + "".join(parts), aria_labelledby=name)


def paragraph(content: str, style: str | None = None) -> str:
    """A paragraph of text."""
    return element("p", escape(content), class_=style)


def bullets(items: Sequence[str], style: str | None = None) -> str:
    """A list of sentences."""
    return element("ul", "".join(element("li", escape(item)) for item in items), class_=style)
