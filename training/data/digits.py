"""scikit-learn's copy of the UCI handwritten digits: 1797 grey images of 8x8 pixels, part of the wheel."""

import gzip
import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.data.dataset import Indices
from training.errors import InputError
from training.schema import DigitsData

SIDE = 8
BRIGHTEST = 16.0


def read_digits() -> tuple[Indices, Indices]:
    """Pixels (images, 64) from 0 to 16, and the digits (images,).

    The file is read as `sklearn.datasets.load_digits` reads it, without importing scikit-learn, which would cost
    each rank two seconds of start-up.

    Raises:
        InputError: scikit-learn is not installed, or keeps the file elsewhere.
    """
    spec = importlib.util.find_spec("sklearn")
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders or [""])), "datasets", "data", "digits.csv.gz")
    if not path.is_file():
        raise InputError(f"data.name: digits needs scikit-learn's {path.name}, which is not installed. Install it.")
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    return table[:, :-1], table[:, -1]


class Digits:
    """Images as (batch, 1, 8, 8) float32 from 0 to 1, targets as (batch,) int64 from 0 to 9."""

    name = "digits"
    tokens_per_sample: int | None = None

    def __init__(self, options: DigitsData) -> None:
        """Splits the images once by the split seed."""
        pixels, targets = read_digits()
        images = (pixels.reshape(-1, SIDE, SIDE) / BRIGHTEST).astype(np.float32)
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
