"""Sharded data parallelism (torch's FSDP2): every rank keeps a part of each parameter and gathers the rest in time.

With a replicate axis larger than 1 it is the hybrid form: sharded within a group, copied between groups. A shard
axis of 1 makes it plain data parallelism that also understands parameters cut by tensor parallelism.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard


def shard(model: nn.Module, blocks: Iterable[nn.Module], mesh: DeviceMesh) -> nn.Module:
    """Shards the model in place.

    Args:
        model: On its device already.
        blocks: Parts that are gathered and freed one after the other; what is outside them is gathered at the start.
        mesh: From `ParallelDims.mesh`. Gradients are averaged over its replicate and shard axes.
    """
    axes = mesh["replicate", "shard"] if mesh["replicate"].size() > 1 else mesh["shard"]
    for block in blocks:
        fully_shard(block, mesh=axes)
    fully_shard(model, mesh=axes)
    return model
