"""The all-reduce by size: how long, and how much of the fabric it uses.

Algorithm bandwidth is bytes over time. Bus bandwidth multiplies it by 2(n-1)/n, the part of the bytes that
each rank must send in the best algorithm, so that numbers for different counts of ranks can be compared.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import torch
import torch.distributed as dist

from training.bench.sizes import FLOAT_BYTES, format_size
from training.device import choose_device, synchronize
from training.errors import ReplicaError
from training.result import write_json
from training.session import Session
from training.tasks import BenchTask

WARM_UP = 3
LEAST_ITERATIONS = 5
MOST_ITERATIONS = 200
GB = 1e9


def bench_allreduce(task: BenchTask, session: Session) -> None:
    """Measures all sizes and, on the first rank, writes `allreduce.json`.

    Raises:
        ReplicaError: A sum is wrong.
    """
    place, output = session.place, task.output
    device = choose_device(task.device, place.local_rank)
    results = []
    for size in task.sizes:
        result = _measure(size, task.seconds_a_size, device)
        results.append(result)
        if place.rank == 0:
            print(
                f"{format_size(size):>8}  {result['seconds'] * 1e3:9.3f} ms  "
                f"{result['algbw_gb_s']:7.3f} GB/s  "
                f"bus {result['busbw_gb_s']:7.3f} GB/s  x{result['iterations']}",
                file=sys.stdout,
                flush=True,
            )
    if place.rank == 0:
        output.mkdir(parents=True, exist_ok=True)
        content = {"backend": task.options.backend, "world_size": place.world_size, "results": results}
        write_json(output / "allreduce.json", content)


def _measure(size: int, seconds: float, device: torch.device) -> dict[str, Any]:
    rank, world = dist.get_rank(), dist.get_world_size()
    tensor = torch.empty(size // FLOAT_BYTES, dtype=torch.float32, device=device)
    _check_sum(tensor, rank, world)
    first = [_once(tensor, device) for _ in range(WARM_UP)]
    iterations = _agree(min(first), seconds)
    median = statistics.median(_once(tensor, device) for _ in range(iterations))
    slowest = torch.tensor(median, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    duration = float(slowest)
    algorithm = size / duration / GB
    return {
        "bytes": size,
        "seconds": duration,
        "algbw_gb_s": algorithm,
        "busbw_gb_s": algorithm * 2 * (world - 1) / world,
        "iterations": iterations,
    }


def _once(tensor: torch.Tensor, device: torch.device) -> float:
    """Seconds of one all-reduce. Zeros stay zeros, so that no repetition overflows."""
    tensor.zero_()
    synchronize(device)
    begin = time.perf_counter()
    dist.all_reduce(tensor)
    synchronize(device)
    return time.perf_counter() - begin


def _agree(once_s: float, seconds: float) -> int:
    """The number of iterations, which must be the same on all ranks: the first one decides."""
    wanted = max(LEAST_ITERATIONS, min(MOST_ITERATIONS, int(seconds / max(once_s, 1e-6))))
    decision = torch.tensor(wanted)
    dist.broadcast(decision, src=0)
    return int(decision)


def _check_sum(tensor: torch.Tensor, rank: int, world: int) -> None:
    """Sums whole numbers that float32 holds exactly, in a pattern that shows shifted or lost parts."""
    pattern = torch.arange(tensor.numel(), device=tensor.device) % 251
    tensor.copy_(pattern + rank)
    dist.all_reduce(tensor)
    wrong = int((tensor != pattern * world + world * (world - 1) // 2).sum())
    if wrong:
        raise ReplicaError(f"all_reduce of {tensor.numel()} numbers: {wrong} sums are wrong on rank {rank}.")
