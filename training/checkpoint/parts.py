"""What a checkpoint holds beside model and optimisers: anything with a state, under a name.

A scheduler, a scaler, the data position, the shares of the ranks. Each rank saves its own states in its own
file, because they may differ between ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

PLAIN = (str, int, float, bool, type(None))


@runtime_checkable
class Part(Protocol):
    """Something to be saved: torch's schedulers, its GradScaler and torchdata's loaders have this form."""

    def state_dict(self) -> dict[str, Any]:
        """The state, of plain values, tensors, lists, tuples and dicts."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> Any:
        """Takes over a state."""


@runtime_checkable
class ReshardingPart(Protocol):
    """A part whose state depends on the number of ranks, such as the shares."""

    def reshard_state(self, state_dicts: Sequence[dict[str, Any]]) -> None:
        """Takes over the states of all ranks of a run that had another number of ranks."""


def copy_state(value: Any, where: str) -> Any:
    """A deep copy on the host of a part's state, which later steps do not change.

    Args:
        value: A state or a piece of it.
        where: Its name, for the message.

    Raises:
        TypeError: It holds something that could not be read back without running code from the file.
    """
    if isinstance(value, Tensor):
        return torch.empty_like(value, device="cpu").copy_(value.detach())
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, PLAIN):
                raise TypeError(f"{where} has a key of type {type(key).__name__}: use text or numbers")
        return {key: copy_state(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        copies = [copy_state(item, f"{where}[{index}]") for index, item in enumerate(value)]
        return copies if isinstance(value, list) else tuple(copies)
    # Not isinstance: a subclass, such as numpy.float64, would be written as what it is.
    if type(value) in PLAIN:
        return value
    raise TypeError(
        f"{where} is a {type(value).__name__}, which a checkpoint does not keep: use numbers, text, tensors, "
        "lists and dicts"
    )


def collect(parts: Mapping[str, Part]) -> dict[str, Any]:
    """The states of all parts.

    Raises:
        TypeError: A state holds something that a checkpoint does not keep.
    """
    return {name: copy_state(part.state_dict(), name) for name, part in parts.items()}


def missing(parts: Mapping[str, Part], states: Mapping[str, Any]) -> list[str]:
    """The names of parts that a saved state lacks."""
    return [name for name in parts if name not in states]


def hand_back(parts: Mapping[str, Part], states: Sequence[Mapping[str, Any]], rank: int) -> None:
    """Gives every part its state.

    Args:
        parts: By name, as at the save.
        states: Those of all ranks of the checkpoint when their number differs from now; else this rank's.
        rank: Which of them is this rank's; a rank that did not exist then takes the first one's.
    """
    mine = states[rank] if rank < len(states) else states[0]
    for name, part in parts.items():
        if len(states) > 1 and isinstance(part, ReshardingPart):
            part.reshard_state([state[name] for state in states])
        else:
            part.load_state_dict(mine[name])
