"""Data parallelism: every rank has the whole model and a slice of the batch; gradients are averaged."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def replicate(model: nn.Module, device: torch.device, bucket_mib: float) -> nn.Module:
    """The model on its device, with gradients averaged over the ranks during the backward pass.

    A world of one rank gets the bare model, so that its throughput is an honest base for comparisons.

    Args:
        model: The same on every rank.
        device: Where it computes.
        bucket_mib: Gradients are sent in buckets of this many MiB, while the rest is still being computed.
    """
    model = model.to(device)
    if dist.get_world_size() == 1:
        return model
    # Gradients live in the buckets themselves, so nothing is copied before or after the reduction.
    return DistributedDataParallel(model, bucket_cap_mb=bucket_mib, gradient_as_bucket_view=True)


def bare(model: nn.Module) -> nn.Module:
    """The model inside the wrapper."""
    return model.module if isinstance(model, DistributedDataParallel) else model
