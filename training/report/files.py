"""Writes files in one motion: a reader sees the old content or the new, never half of it."""

from __future__ import annotations

from pathlib import Path

from training.errors import InputError


def write_text(path: Path, text: str) -> Path:
    """Writes a file under a temporary name beside it and then renames it.

    Raises:
        InputError: It cannot be written there.
    """
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}. Choose another place.") from error
    return path
