"""What makes a model the same model: names, dtypes and global shapes of its tensors.

Values do not count, nor does how the tensors are spread over ranks: a checkpoint of DDP on two ranks is of
the same model as FSDP2 on four.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

# A sentence with more differences than these is not read.
NAMED = 3


def table(model_state: Mapping[str, Any]) -> dict[str, str]:
    """`dtype[shape]` of every tensor by name; a DTensor's shape is the global one.

    Args:
        model_state: From `get_model_state_dict`, whose names do not depend on DDP or FSDP.
    """
    return {
        name: f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        for name, value in sorted(model_state.items())
        if isinstance(value, Tensor)
    }


def fingerprint(tensors: Mapping[str, str]) -> str:
    """SHA-256 of a table."""
    return hashlib.sha256(json.dumps(tensors, sort_keys=True).encode()).hexdigest()


def difference(
    saved: Mapping[str, str],
    present: Mapping[str, str],
    saved_optimizers: Sequence[str],
    present_optimizers: Sequence[str],
) -> str | None:
    """What differs, in words, or None when the checkpoint fits.

    Args:
        saved: The table of the checkpoint.
        present: That of the model to be loaded.
        saved_optimizers: Class names of the checkpoint's optimisers.
        present_optimizers: Those of the optimisers to be loaded.
    """
    parts = [
        f"{name} is {saved[name]} there and {present[name]} here"
        for name in saved
        if name in present and saved[name] != present[name]
    ]
    parts = _limited(parts)
    for names, where in (
        ([name for name in saved if name not in present], "only in the checkpoint"),
        ([name for name in present if name not in saved], "only in this model"),
    ):
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            parts.append(f"{', '.join(names[:NAMED])}{more} {where}")
    if list(saved_optimizers) != list(present_optimizers):
        there = ", ".join(saved_optimizers) or "none"
        here = ", ".join(present_optimizers) or "none"
        parts.append(f"the optimiser is {there} there and {here} here")
    return "; ".join(parts) or None


def _limited(parts: list[str]) -> list[str]:
    rest = len(parts) - NAMED
    return [*parts[:NAMED], f"{rest} more tensors differ"] if rest > 0 else parts
