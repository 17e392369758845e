"""What the training loop asks of a data set."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Indices = NDArray[np.int64]


class Dataset(Protocol):
    """Samples by number, in two parts. All tensors are on the CPU.

    Attributes:
        name: The name in the job file.
        sha256: Of the samples; ranks with different ones must not train together.
        train_size: Samples to train on.
        test_size: Samples to test on.
        tokens_per_sample: Tokens of a text sample, None for other data.
    """

    name: str
    sha256: str
    train_size: int
    test_size: int
    tokens_per_sample: int | None

    def train_batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """Inputs and targets of training samples; the first dim counts the samples."""

    def test_batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """Inputs and targets of test samples; the first dim counts the samples."""
