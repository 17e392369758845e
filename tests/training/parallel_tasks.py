"""What the ranks of the pool do in the tests of the kinds of parallelism."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from training.components.loss import rank_loss, summed_loss
from training.data.sharding import share
from training.distributed.ddp import bare, replicate
from training.distributed.fsdp import shard
from training.distributed.local_sgd import LocalSgd
from training.distributed.parallel_dims import ParallelDims
from training.distributed.pipeline_parallel import build_pipeline
from training.distributed.tensor_parallel import cut_matrices
from training.models import build_model
from training.models.gpt import Gpt
from training.schema import GptOptions

STEPS, BATCH, WINDOW = 20, 8, 12
CPU = torch.device("cpu")


def _model() -> Gpt:
    torch.manual_seed(0)
    model = build_model(GptOptions(layers=4, heads=4, dim=32, context=WINDOW))
    assert isinstance(model, Gpt)
    return model


def _optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)


def _batches() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(5)
    windows = torch.randint(256, (STEPS, BATCH, WINDOW + 1), generator=generator)
    return [(window[:, :-1], window[:, 1:]) for window in windows]


def _loss(ranks: int) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, targets: rank_loss(summed_loss(scores, targets), BATCH * WINDOW, ranks)


def alone() -> dict[str, Tensor]:
    """The parameters after all steps of one process on the whole batch."""
    model = _model()
    optimizer = _optimizer(model)
    for inputs, targets in _batches():
        optimizer.zero_grad()
        _loss(1)(model(inputs), targets).backward()
        optimizer.step()
    return dict(model.named_parameters())


def _distance(model: nn.Module, expected: dict[str, Tensor]) -> float:
    worst = 0.0
    for name, parameter in model.named_parameters():
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        worst = max(worst, float((whole - expected[name]).detach().abs().max()))
    return worst


def data_parallel() -> float:
    """Largest difference to one process of DistributedDataParallel."""
    rank, world = dist.get_rank(), dist.get_world_size()
    model = replicate(_model(), CPU, bucket_mib=0.02)
    optimizer = _optimizer(model)
    mine = share(BATCH, rank, world)
    for inputs, targets in _batches():
        optimizer.zero_grad()
        _loss(world)(model(inputs[mine]), targets[mine]).backward()
        optimizer.step()
    return _distance(bare(model), alone())


def on_a_mesh(sizes: dict[str, int]) -> float:
    """The same of any division without a pipeline."""
    rank, world = dist.get_rank(), dist.get_world_size()
    dims = ParallelDims(world, **sizes)
    mesh = dims.mesh("cpu")
    model = _model()
    if dims.tensor > 1:
        cut_matrices(model, mesh)
    if dims.data > 1:
        shard(model, model.blocks, mesh)
    optimizer = _optimizer(model)
    mine = share(BATCH, dims.data_rank(rank), dims.data)
    for inputs, targets in _batches():
        optimizer.zero_grad()
        _loss(dims.data)(model(inputs[mine]), targets[mine]).backward()
        optimizer.step()
    return _distance(model, alone())


def in_a_pipeline(sizes: dict[str, int], stages_a_rank: int) -> tuple[float, float]:
    """The same of a division with a pipeline; and, on its last rank, the last loss."""
    rank, world = dist.get_rank(), dist.get_world_size()
    dims = ParallelDims(world, **sizes)
    mesh = dims.mesh("cpu")
    model = _model()
    if dims.tensor > 1:
        cut_matrices(model, mesh)
    pipeline = build_pipeline(model, mesh, CPU, _loss(dims.data), micro_batches=4, stages_a_rank=stages_a_rank)
    if dims.data > 1:
        for part in pipeline.parts:
            shard(part, part.blocks.values(), mesh)
    optimizers = [_optimizer(part) for part in pipeline.parts]
    mine = share(BATCH, dims.data_rank(rank), dims.data)
    losses: list[Tensor] = []
    for inputs, targets in _batches():
        for optimizer in optimizers:
            optimizer.zero_grad()
        losses = pipeline.step(inputs[mine], targets[mine])
        for optimizer in optimizers:
            optimizer.step()
    expected = alone()
    worst = max(_distance(part, expected) for part in pipeline.parts)
    return worst, float(sum(losses)) if losses else -1.0


def _linear(seed: int) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(3, 2)


def local_steps(outer_lr: float, momentum: float) -> tuple[float, bool]:
    """Local SGD on numbers that can be followed by hand: distance to that, and whether all ranks agree."""
    rank, world = dist.get_rank(), dist.get_world_size()
    model = _linear(seed=rank)
    start = torch.cat([parameter.detach().reshape(-1) for parameter in _linear(seed=0).parameters()])
    local = LocalSgd(model.parameters(), inner_steps=2, outer_lr=outer_lr, outer_momentum=momentum)
    met = []
    for step in range(4):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * (rank + 1) * (step + 1)
        met.append(local.step())
    assert met == [False, True, False, True]
    # Every rank moves by 0.1 (rank + 1) (step + 1) a step; the outer optimiser sees the mean of two steps.
    mean_rank = sum(range(1, world + 1)) / world
    expected, velocity = start.clone(), 0.0
    for steps in ((1, 2), (3, 4)):
        gradient = 0.1 * mean_rank * sum(steps)
        velocity = momentum * velocity + gradient
        expected -= outer_lr * (gradient + momentum * velocity)
    flat = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    everyone = [torch.empty_like(flat) for _ in range(world)]
    dist.all_gather(everyone, flat)
    return float((flat - expected).abs().max()), all(torch.equal(flat, other) for other in everyone)
