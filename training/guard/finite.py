"""Counts infinities and NaN in many tensors, with one wait for the device when there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

# A sentence with more names than these is not read.
NAMED = 3


@dataclass(frozen=True)
class NonFinite:
    """What was counted.

    Attributes:
        what: `gradients` or `parameters`.
        counts: Non-finite elements by name, of the tensors that have any.
        elements: Elements looked at.
    """

    what: str
    counts: Mapping[str, int]
    elements: int

    @property
    def ok(self) -> bool:
        """Whether all numbers are finite."""
        return not self.counts

    @property
    def sentence(self) -> str:
        """How many, and where."""
        if self.ok:
            return f"All {self.elements} numbers of the {self.what} are finite."
        names = sorted(self.counts, key=lambda name: self.counts[name], reverse=True)
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return (
            f"{sum(self.counts.values())} of {self.elements} numbers of the {self.what} are not finite: "
            f"{', '.join(f'{name} ({self.counts[name]})' for name in names[:NAMED])}{more}. Lower the "
            "learning rate, or clip the gradients."
        )


def count_nonfinite(model: nn.Module, what: str = "gradients") -> NonFinite:
    """Counts in the gradients or parameters that this rank holds. Not a collective.

    Args:
        model: Bare, DDP or FSDP2.
        what: `gradients` or `parameters`.

    Raises:
        ValueError: what is neither.
    """
    if what not in ("gradients", "parameters"):
        raise ValueError(f"what is {what!r}, but must be gradients or parameters")
    named = {
        name: parameter if what == "parameters" else parameter.grad for name, parameter in model.named_parameters()
    }
    tensors = {name: _local(tensor.detach()) for name, tensor in named.items() if tensor is not None}
    elements = sum(tensor.numel() for tensor in tensors.values())
    if _all_finite(tensors.values()):
        return NonFinite(what, {}, elements)
    counts = {name: int((~torch.isfinite(tensor)).sum()) for name, tensor in tensors.items()}
    return NonFinite(what, {name: count for name, count in counts.items() if count}, elements)


def _local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _all_finite(tensors: Iterable[Tensor]) -> bool:
    """One number for all: the largest magnitude is finite exactly when every element is.

    Unlike a sum or an L2 norm, a maximum of finite numbers never overflows.
    """
    filled = [tensor for tensor in tensors if tensor.numel()]
    return not filled or bool(torch.isfinite(nn.utils.get_total_norm(filled, norm_type=float("inf"))))
