"""One seed for every source of randomness of a process."""

import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seeds Python, NumPy and torch, and asks torch for deterministic kernels where it has them.

    All ranks use the same seed, so that they build the same model; the data alone differs between ranks.
    """
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
