"""A run that is small and has all that must be resumed: dropout, AdamW, momentum, Python's and NumPy's numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn


class Position:
    """A data position: anything with a state."""

    def __init__(self) -> None:
        self.value = 0

    def state_dict(self) -> dict[str, Any]:
        """The position, three times over: plain, nested, and as a tensor."""
        return {"value": self.value, "history": [self.value, (1.5, None)], "tensor": torch.tensor([self.value])}

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Goes to a position.

        Raises:
            ValueError: The three do not agree.
        """
        if not state_dict["history"][0] == state_dict["value"] == int(state_dict["tensor"]):
            raise ValueError(f"the state contradicts itself: {state_dict}")
        self.value = state_dict["value"]


class Run:
    """One rank, or one process."""

    def __init__(
        self, rank: int = 0, wrap: Callable[[nn.Sequential], nn.Module] = lambda model: model, width: int = 16
    ) -> None:
        """Builds the same model on every rank; from then on each rank draws its own numbers.

        Args:
            rank: This rank.
            wrap: Spreads the model over the ranks.
            width: Of the hidden layer.
        """
        random.seed(5)
        np.random.seed(6)
        torch.manual_seed(7)
        self.bare = nn.Sequential(
            nn.Linear(8, width), nn.BatchNorm1d(width), nn.Dropout(0.3), nn.GELU(), nn.Linear(width, 4)
        )
        self.model = wrap(self.bare)
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(self.bare[0].parameters(), lr=1e-2, weight_decay=0.1),
            torch.optim.SGD([*self.bare[1].parameters(), *self.bare[4].parameters()], lr=1e-2, momentum=0.9),
        ]
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizers[0], 100)
        self.data = Position()
        self.done = 0
        random.seed(50 + rank)
        np.random.seed(60 + rank)
        torch.manual_seed(70 + rank)

    @property
    def parts(self) -> dict[str, Any]:
        """What is saved beside model and optimisers."""
        return {"scheduler": self.scheduler, "data": self.data}

    def step(self) -> str:
        """One step; its loss as hexadecimal, so that equal means equal to the last bit."""
        inputs = torch.randn(6, 8) * random.uniform(0.5, 1.5) + float(np.random.normal())
        loss = self.model(inputs + self.data.value * 0.01).square().mean()
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        self.scheduler.step()
        self.data.value += 1
        self.done += 1
        return float(loss.item()).hex()

    def steps(self, count: int) -> list[str]:
        """Several steps."""
        return [self.step() for _ in range(count)]
