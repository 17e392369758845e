"""A field of a job file's section, with the limits and the hint that its error message needs."""

from dataclasses import field
from typing import Any


def option(default: Any, fix: str, *, least: float | None = None, most: float | None = None) -> Any:
    """A dataclass field whose limits and hint the validation uses.

    Args:
        default: The value when the file does not give one.
        fix: The end of the error message: what to write instead.
        least: The smallest value allowed, itself included.
        most: The largest value allowed, itself included.
    """
    return field(default=default, metadata={"fix": fix, "least": least, "most": most})
