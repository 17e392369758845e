"""Style sheets that are put into the report and the drawing as they are."""

from __future__ import annotations

from importlib.resources import files


def template(name: str) -> str:
    """The text of a file in this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
