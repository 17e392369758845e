"""The state of every random number generator of a process, as values that torch.save keeps."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def capture() -> dict[str, Any]:
    """The states of Python, NumPy, torch's CPU generator, and those of CUDA and MPS where they are in use."""
    version, numbers, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state()
    states: dict[str, Any] = {
        "python": {"version": version, "numbers": list(numbers), "gauss": gauss},
        "numpy": {
            "name": str(name),
            "keys": torch.from_numpy(np.asarray(keys, dtype=np.uint32).astype(np.int64)),
            "position": int(position),
            "has_gauss": int(has_gauss),
            "cached": float(cached),
        },
        "cpu": torch.get_rng_state(),
    }
    # A generator that was never used would be created by asking, and CUDA with it.
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        states["cuda"] = torch.cuda.get_rng_state_all()
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore(states: dict[str, Any]) -> None:
    """Sets all generators that this machine has to the captured states.

    Raises:
        KeyError: A state is missing.
        ValueError: A state is not one.
    """
    python, numpy = states["python"], states["numpy"]
    random.setstate((python["version"], tuple(python["numbers"]), python["gauss"]))
    np.random.set_state(
        (
            numpy["name"],
            numpy["keys"].numpy().astype(np.uint32),
            numpy["position"],
            numpy["has_gauss"],
            numpy["cached"],
        )
    )
    torch.set_rng_state(states["cpu"])
    cuda = states.get("cuda")
    if cuda and torch.cuda.is_available() and torch.cuda.device_count() == len(cuda):
        torch.cuda.set_rng_state_all(cuda)
    if "mps" in states and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states["mps"])


def reseed(step: int, rank: int, world_size: int) -> None:
    """Fresh, repeatable states for a rank that did not exist when the checkpoint was taken.

    Args:
        step: Of the checkpoint.
        rank: This rank.
        world_size: The ranks that go on.
    """
    seeds = np.random.SeedSequence([step, rank, world_size]).generate_state(3)
    random.seed(int(seeds[0]))
    np.random.seed(int(seeds[1]))
    torch.manual_seed(int(seeds[2]))
