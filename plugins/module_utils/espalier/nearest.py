"""The name that was meant by a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Longest name that is compared: the comparison costs the square of the length, and no name of ours is longer.
_MAX_LENGTH = 100


def nearest(name: str, known: Iterable[str], alike: float = 0.7) -> str | None:
    """The known name that is most like ``name``, None where none is like it.

    Capitals and the choice between ``-`` and ``_`` do not count. Of equally near names the same one is taken
    whatever the order of ``known``.

    Args:
        name: the misspelt name.
        known: the right names.
        alike: how like it must be, 0 to 1 (the ratio of difflib.SequenceMatcher).
    """
    if len(name) > _MAX_LENGTH:
        return None
    by_form = {_form(candidate): candidate for candidate in sorted(known, reverse=True)}
    matches = difflib.get_close_matches(_form(name), sorted(by_form), n=1, cutoff=alike)
    return by_form[matches[0]] if matches else None


def _form(name: str) -> str:
    return name.lower().replace("-", "_")
