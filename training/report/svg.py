"""Small helpers that write SVG and HTML elements. Everything that comes from outside passes through here."""

from __future__ import annotations

from html import escape as _escape

# Not allowed in XML even as entities; a name that holds one would make the whole drawing unreadable.
_FORBIDDEN = dict.fromkeys(
    [code for code in range(32) if chr(code) not in "\t\n\r"] + [0xFFFE, 0xFFFF, *range(0xD800, 0xE000)],
    "\N{REPLACEMENT CHARACTER}",
)


def escape(text: str) -> str:
    """Text that is safe as content and inside quotes, in HTML and in XML."""
    return _escape(text.translate(_FORBIDDEN), quote=True)


def number(value: float) -> str:
    """A coordinate with at most two decimals and no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def element(name: str, content: str | None = None, /, **attributes: str | float | None) -> str:
    """An element. Attribute values are escaped, `content` is markup and is not.

    Underscores in attribute names become dashes and a trailing one is dropped (`class_`, `stroke_width`).
    An attribute that is None is left out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}/>" if content is None else f"<{name}{written}>{content}</{name}>"


def text(content: str, x: float, y: float, /, **attributes: str | float | None) -> str:
    """A text element at a point."""
    return element("text", escape(content), x=x, y=y, **attributes)


def shorten(content: str, most: int) -> str:
    """Text of at most so many characters, with an ellipsis in place of what was cut."""
    return content if len(content) <= most else content[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
