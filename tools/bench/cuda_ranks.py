#!/usr/bin/env python3
"""Two ranks on CUDA tensors over `unified`: the staged path on a real accelerator, and how much it overlaps.

Two ranks share the machine's GPUs (two, or one) and talk over the loopback. Three things are measured:

- results: every collective that DistributedDataParallel uses, on CUDA tensors, against plain gloo;
- parameters: 5 steps of a small ResNet over `unified` against plain gloo on the same data;
- overlap: the step of ResNet-50 against its computation alone and the all-reduce of its gradients alone.

Writes the targets as JSON to --output and prints them; exits 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import TCPStore
from torch.multiprocessing.spawn import start_processes
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from training.distributed.fabric_view import FabricView
from training.distributed.unified import BACKEND, register
from training.models.resnet import Resnet
from training.schema_models import ResnetOptions

RANKS = 2
PORT = 29611
REPEATS = 9
OVERLAP_BOUND = 0.35
"""Of the transfer's time, how much may stay visible in a step."""


def _connect(rank: int, backend: str, offset: int) -> None:
    register(FabricView(address="127.0.0.1"))
    store = TCPStore("127.0.0.1", PORT + offset, RANKS, rank == 0, timeout=timedelta(seconds=120))
    dist.init_process_group(backend, store=store, rank=rank, world_size=RANKS, timeout=timedelta(seconds=300))


def _collectives(device: torch.device, rank: int) -> list[torch.Tensor]:
    """The results of one of each collective on device tensors, on the host."""
    generator = torch.Generator().manual_seed(rank)
    results: list[torch.Tensor] = []
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        value = (torch.randn(1000, generator=generator) * 100).to(dtype).to(device)
        summed = value.clone()
        dist.all_reduce(summed)
        copied = value.clone()
        dist.broadcast(copied, 1)
        gathered = [torch.empty_like(value) for _ in range(RANKS)]
        dist.all_gather(gathered, value)
        results += [summed, copied, *gathered]
    strided = torch.arange(24.0, device=device).reshape(4, 6).t() * (rank + 1)
    strided = strided.contiguous()
    dist.all_reduce(strided, op=dist.ReduceOp.MAX)
    results.append(strided)
    return [result.cpu() for result in results]


def _backward(loss: torch.Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def _train_small(device: torch.device, rank: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    model = Resnet(ResnetOptions(depth=18, classes=10, small_images=True)).to(device)
    replica = DistributedDataParallel(model, bucket_cap_mb=5, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(5):
        images = torch.randn(16, 3, 32, 32, generator=generator).to(device)
        classes = torch.randint(0, 10, (16,), generator=generator).to(device)
        optimizer.zero_grad(set_to_none=True)
        _backward(functional.cross_entropy(replica(images), classes))
        optimizer.step()
    torch.use_deterministic_algorithms(False)
    return [parameter.detach().cpu() for parameter in model.parameters()]


def _timed(work: Callable[[], Any]) -> float:
    dist.barrier()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    dist.barrier()
    return time.perf_counter() - begin


def _overlap(device: torch.device, batch: int) -> dict[str, list[float]]:
    """Seconds of a step with and without communication, and of the communication alone, interleaved."""
    torch.manual_seed(0)
    model: nn.Module = Resnet(ResnetOptions(depth=50)).to(device)
    replica = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.randn(batch, 3, 224, 224, device=device)
    classes = torch.randint(0, 1000, (batch,), device=device)
    # DistributedDataParallel's own default bucket: 25 MiB
    size = sum(parameter.numel() for parameter in model.parameters())
    buckets = list(torch.split(torch.zeros(size, device=device), 25 * 2**20 // 4))

    def step(*, synchronise: bool) -> None:
        with nullcontext() if synchronise else replica.no_sync():
            _backward(functional.cross_entropy(replica(images), classes))
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    def transfer() -> None:
        for bucket in buckets:
            dist.all_reduce(bucket)

    times: dict[str, list[float]] = {"step": [], "compute": [], "transfer": []}
    for repeat in range(REPEATS + 2):
        measured = {
            "step": _timed(lambda: step(synchronise=True)),
            "compute": _timed(lambda: step(synchronise=False)),
            "transfer": _timed(transfer),
        }
        if repeat >= 2:
            for name, seconds in measured.items():
                times[name].append(seconds)
    return times


def _rank(rank: int, batch: int, output: str) -> None:
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    found: dict[str, Any] = {}
    for offset, backend in enumerate(("gloo", BACKEND)):
        _connect(rank, backend, offset)
        found[backend] = {
            "collectives": _collectives(device, rank),
            "parameters": _train_small(device, rank),
            "overlap": _overlap(device, batch),
        }
        dist.barrier()
        dist.destroy_process_group()
    if rank == 0:
        torch.save(found, output)


def targets(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The measured values with their bounds, in the shape that all benchmarks share."""
    plain, ours = found["gloo"], found[BACKEND]
    equal = all(torch.equal(a, b) for a, b in zip(plain["collectives"], ours["collectives"], strict=True))
    apart = max(float((a - b).abs().max()) for a, b in zip(plain["parameters"], ours["parameters"], strict=True))
    rows: list[dict[str, Any]] = [
        {
            "name": "collectives on CUDA tensors equal plain gloo's",
            "value": int(equal),
            "op": ">=",
            "bound": 1,
            "detail": f"{len(ours['collectives'])} results, bit for bit",
        },
        {
            "name": "parameters after 5 steps, largest difference to plain gloo's",
            "value": apart,
            "op": "<=",
            "bound": 1e-5,
            "detail": "ResNet-18, 32x32 images, SGD with momentum",
        },
    ]
    medians = {name: statistics.median(values) for name, values in ours["overlap"].items()}
    plain_step = statistics.median(plain["overlap"]["step"])
    spread = ", ".join(
        f"{name} {medians[name]:.4f} s ({min(values):.4f} to {max(values):.4f})"
        for name, values in ours["overlap"].items()
    )
    rows.append(
        {
            "name": "visible part of the transfer in a step of ResNet-50",
            "value": (medians["step"] - medians["compute"]) / medians["transfer"],
            "op": "<=",
            "bound": OVERLAP_BOUND,
            "detail": f"{REPEATS} interleaved repeats: {spread}; step over plain gloo {plain_step:.4f} s",
        }
    )
    for row in rows:
        value, bound = float(row["value"]), float(row["bound"])
        row["ok"] = value >= bound if row["op"] == ">=" else value <= bound
    return rows


def main() -> int:
    """Run the two ranks and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("build/bench/cuda_ranks.json"))
    parser.add_argument("--batch", type=int, default=128, help="images of a rank in the overlap measurement")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("cuda_ranks: needs a machine with a CUDA GPU; there is none here", file=sys.stderr)
        return 2
    options.output.parent.mkdir(parents=True, exist_ok=True)
    raw = options.output.with_suffix(".pt")
    start_processes(_rank, (options.batch, str(raw)), nprocs=RANKS, start_method="spawn")  # type: ignore[no-untyped-call]
    rows = targets(torch.load(raw))
    raw.unlink()
    environment = {
        "torch": torch.__version__,
        "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
    }
    options.output.write_text(json.dumps({"targets": rows, "environment": environment}, indent=2) + "\n")
    for row in rows:
        print(f"{'ok  ' if row['ok'] else 'MISS'} {row['name']}: {row['value']:.4g} {row['op']} {row['bound']}")
        print(f"     {row['detail']}")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
