"""Tensor parallelism: single matrices cut over ranks, by plans that name the modules of the bundled models.

Two linear layers in a row are cut as a pair: the first by its output dim, the second by its input dim, so that
one sum over the ranks at the end of the pair is all the communication. Attention is such a pair, with the heads
shared out between the ranks.
"""

from __future__ import annotations

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)

from training.errors import InputError
from training.models.gpt import Block


def block_plan() -> dict[str, ParallelStyle]:
    """The plan of one block of `Gpt`: module name to the way it is cut."""
    return {
        "attention.query": ColwiseParallel(),
        "attention.key": ColwiseParallel(),
        "attention.value": ColwiseParallel(),
        "attention.output": RowwiseParallel(),
        "feed_forward.up": ColwiseParallel(),
        "feed_forward.down": RowwiseParallel(),
    }


def cut_matrices(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Cuts the model's blocks over the tensor axis, in place; embeddings, norms and head stay whole.

    Args:
        model: The same on every rank of the axis.
        mesh: From `ParallelDims.mesh`.

    Raises:
        InputError: The model has no block with a plan.
    """
    blocks = [module for module in model.modules() if isinstance(module, Block)]
    if not blocks:
        raise InputError(f"parallel.tensor: there is no plan for {type(model).__name__}. Use model gpt, or tensor: 1.")
    for block in blocks:
        parallelize_module(block, mesh["tensor"], block_plan())
    return model
