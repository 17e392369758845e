"""A run that is small and has all that must be resumed: dropout, AdamW, momentum, Python's and NumPy's numbers."""

import random

import numpy as np
import torch
from torch import nn


class Counter:
    """A data position: any object with a state."""

    def __init__(self):
        self.value = 0

    def state_dict(self):
        return {"value": self.value, "history": [self.value, (1.5, None)], "tensor": torch.tensor([self.value])}

    def load_state_dict(self, state):
        assert state["history"][0] == state["value"] == int(state["tensor"])
        self.value = state["value"]


class Run:
    """One rank, or one process."""

    def __init__(self, rank=0, wrap=lambda model: model, width=16):
        random.seed(5)
        np.random.seed(6)
        torch.manual_seed(7)
        self.bare = nn.Sequential(
            nn.Linear(8, width), nn.BatchNorm1d(width), nn.Dropout(0.3), nn.GELU(), nn.Linear(width, 4)
        )
        self.model = wrap(self.bare)
        first, rest = [self.bare[0].weight, self.bare[0].bias], [*self.bare[1].parameters(), *self.bare[4].parameters()]
        self.optimizers = [
            torch.optim.AdamW(first, lr=1e-2, weight_decay=0.1),
            torch.optim.SGD(rest, lr=1e-2, momentum=0.9),
        ]
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizers[0], 100)
        self.data = Counter()
        self.done = 0
        # Each rank draws its own numbers from here on.
        random.seed(50 + rank)
        np.random.seed(60 + rank)
        torch.manual_seed(70 + rank)

    @property
    def parts(self):
        return {"scheduler": self.scheduler, "data": self.data}

    def step(self):
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
        return loss.item().hex()

    def steps(self, count):
        return [self.step() for _ in range(count)]
