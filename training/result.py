"""`result.json`: what a run was and what came of it, and the checks that make it worth reading."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from training import __version__


@dataclass
class Result:
    """The keys of `result.json`, which others read.

    Attributes:
        seconds: From the first step to the last, without evaluation.
        samples: Trained on in all, over all ranks.
        samples_s: Samples a second over all ranks.
        tokens_s: Tokens a second over all ranks, None where samples are not text.
        accuracy: On the test part, None for models that do not classify.
        loss_first: Global mean loss of the first step.
        loss_last: Global mean loss of the last logging interval.
        losses: Step (from 1) and mean loss of the interval that ended there.
        parameters: Numbers that the model learns.
        parameters_sha256: For each node, the hash of all parameters at the end.
        replicas_identical: Whether these hashes are equal.
    """

    job: str
    model: str
    dataset: str
    world_size: int
    nodes: list[str]
    backend: str
    device: str
    seconds: float
    steps: int
    global_batch: int
    samples: int
    samples_s: float
    tokens_s: float | None
    accuracy: float | None
    loss_first: float
    loss_last: float
    losses: list[tuple[int, float]]
    parameters: int
    parameters_sha256: dict[str, str]
    replicas_identical: bool
    environment: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Writes `result.json` in one motion, so that a reader never sees half of it."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "result.json"
        return write_json(path, asdict(self))


def write_json(path: Path, content: Any) -> Path:
    """Writes a JSON file under a temporary name and then renames it."""
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def parameters_sha256(model: nn.Module) -> str:
    """A hash of names, shapes, types and bytes of all parameters and buffers, in order."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        host = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {host.dtype} {tuple(host.shape)}\n".encode())
        digest.update(host.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def environment(**more: Any) -> dict[str, Any]:
    """Versions and settings that a number depends on."""
    return {
        "espalier": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit_learn": metadata.version("scikit-learn"),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "command": shlex.join(["espalier", *sys.argv[1:]]),
        **more,
    }
