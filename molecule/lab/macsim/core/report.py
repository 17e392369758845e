"""One data type of system_profiler in both of its forms."""

from __future__ import annotations

from typing import Any, NamedTuple


class Report(NamedTuple):
    """What system_profiler knows about one data type.

    Attributes:
        items: The list that -json prints.
        text: The same for a person, with its closing empty line.
    """

    items: list[dict[str, Any]]
    text: str
