"""scikit-learn's copy of the UCI handwritten digits: 1797 grey images of 8x8 pixels, part of the wheel."""

import hashlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from training.data.dataset import Indices
from training.schema import DigitsData

BRIGHTEST = 16.0


class Digits:
    """Images as (batch, 1, 8, 8) float32 from 0 to 1, targets as (batch,) int64 from 0 to 9."""

    name = "digits"
    tokens_per_sample: int | None = None

    def __init__(self, options: DigitsData) -> None:
        """Splits the images once by the split seed."""
        bunch = load_digits()
        images = (bunch.images / BRIGHTEST).astype(np.float32)
        targets = bunch.target.astype(np.int64)
        order = np.random.default_rng(options.split_seed).permutation(len(targets))
        self.test_size = round(len(targets) * options.test_fraction)
        self.train_size = len(targets) - self.test_size
        self._images = torch.from_numpy(images[order]).unsqueeze(1)
        self._targets = torch.from_numpy(targets[order])
        self.sha256 = hashlib.sha256(images[order].tobytes() + targets[order].tobytes()).hexdigest()

    def train_batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """Inputs and targets of training samples."""
        return self._pick(indices + self.test_size)

    def test_batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """Inputs and targets of test samples."""
        return self._pick(indices)

    def _pick(self, places: Indices) -> tuple[Tensor, Tensor]:
        chosen = torch.from_numpy(places)
        return self._images[chosen], self._targets[chosen]
