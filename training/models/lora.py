"""Low-rank adapters (Hu et al., 2021, https://arxiv.org/abs/2106.09685).

A frozen linear layer gets a trained correction of low rank: W x + (alpha / rank) B A x. B begins at zero, so
an adapted model begins as the model it was made from. Macs then exchange only the adapters' gradients.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import torch
from torch import Tensor, nn


class LoraLinear(nn.Module):
    """A frozen linear layer with an adapter."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        weight = base.weight
        self.down = nn.Parameter(torch.empty(rank, base.in_features, dtype=weight.dtype, device=weight.device))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, dtype=weight.dtype, device=weight.device))
        # the initialisation that nn.Linear gives its own weights
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        out: Tensor = self.base(x) + self.scale * ((x @ self.down.T) @ self.up.T)
        return out

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """A plain linear layer that computes the same."""
        layer = nn.Linear(
            self.base.in_features,
            self.base.out_features,
            bias=self.base.bias is not None,
            dtype=self.base.weight.dtype,
            device=self.base.weight.device,
        )
        layer.weight.copy_(self.base.weight + self.scale * (self.up @ self.down))
        if self.base.bias is not None:
            layer.bias.copy_(self.base.bias)
        return layer


def adapt(model: nn.Module, names: Collection[str], rank: int, alpha: float) -> int:
    """Freezes a model and puts an adapter on each of its linear layers with one of these names.

    Args:
        model: Changed in place.
        names: The last part of the layers' names, such as `query`.
        rank: Of the correction.
        alpha: The correction is scaled by alpha / rank.

    Returns:
        How many layers were adapted.

    Raises:
        ValueError: The model has no linear layer with such a name.
    """
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    found = [
        (parent, name, child)
        for parent in list(model.modules())
        for name, child in parent.named_children()
        if name in names and isinstance(child, nn.Linear)
    ]
    if not found:
        raise ValueError(f"no linear layer is named {' or '.join(sorted(names))}: nothing can be adapted")
    for parent, name, child in found:
        setattr(parent, name, LoraLinear(child, rank, alpha))
    return len(found)


def merge(model: nn.Module) -> None:
    """Replaces every adapted layer by the plain layer that computes the same, in place."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoraLinear):
                setattr(parent, name, child.merged())
