#!/usr/bin/env python3
"""How long an asynchronous checkpoint holds up training, against a synchronous save of the same state.

    python -m tools.bench.checkpoint [--mib 256] [--repeats 7] [--ranks 2] [--folder DIR]

Both are measured in turn in one process per rank, on the same model and folder. A synchronous save is the
plain form: all of it, to the commit marker in the shared folder, before the next step. Two things are told
apart for the asynchronous one:

- stall: how long `save` holds up the training thread at the step border;
- slowdown: how much longer the steps take that run while the thread writes, all of them together.

The target is on the stall; the slowdown is printed beside it, because on a machine whose cores are all busy
with training it is the larger of the two.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.spawn import start_processes
from torch.nn.parallel import DistributedDataParallel

from tools.bench.targets import Target, conclude, machine
from training.checkpoint import Checkpointer, Committed, Started

BOUND = 0.05
STEPS_BETWEEN = 4
BATCH = 32
WIDTH = 1024
# fp32 weight, and AdamW's two moments of it.
BYTES_A_PARAMETER = 12
LAYER_BYTES = WIDTH * WIDTH * BYTES_A_PARAMETER


def _rank(rank: int, size: int, mib: int, repeats: int, folder: str, answer: str) -> None:
    """One rank; the first writes the measurements of the slowest rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{answer}.store", rank=rank, world_size=size)
    torch.manual_seed(0)
    layers = max(1, mib * 2**20 // LAYER_BYTES)
    model = DistributedDataParallel(nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(layers)]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        loss = model(torch.randn(BATCH, WIDTH)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    shared, local = Path(folder) / "shared", Path(folder) / f"local{rank}"
    checkpointer = Checkpointer(shared, local=local, group=dist.group.WORLD, keep=1)
    rows: list[tuple[float, float, float]] = []
    # The first pair fills caches and host buffers and is not counted.
    for repeat in range(repeats + 1):
        for _ in range(STEPS_BETWEEN):
            step()
        dist.barrier()
        begin = time.perf_counter()
        _started(checkpointer.save(2 * repeat, model, [optimizer], wait=True))
        sync_s = time.perf_counter() - begin
        _committed(checkpointer)

        alone_s = _timed(step, STEPS_BETWEEN)
        dist.barrier()
        stall_s = _started(checkpointer.save(2 * repeat + 1, model, [optimizer])).stall_s
        beside_s, beside = 0.0, 0
        # All ranks must do the same number of steps, as long as any of them is writing.
        while _any(not checkpointer.wait(0)):
            beside_s += _timed(step, 1)
            beside += 1
        _committed(checkpointer)
        slowdown_s = beside_s - beside * alone_s / STEPS_BETWEEN
        slowest = torch.tensor([sync_s, stall_s, slowdown_s], dtype=torch.float64)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        rows.append((float(slowest[0]), float(slowest[1]), float(slowest[2])))
    if rank == 0:
        state_mib = sum(item.numel() for item in model.parameters()) * BYTES_A_PARAMETER / 2**20
        Path(answer).write_text(json.dumps({"mib": state_mib, "rows": rows[1:]}), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def _timed(step: Any, count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        step()
    return time.perf_counter() - begin


def _any(value: bool) -> bool:
    answer = torch.tensor([float(value)])
    dist.all_reduce(answer, op=dist.ReduceOp.MAX)
    return bool(answer)


def _started(answer: object) -> Started:
    if not isinstance(answer, Started):
        raise RuntimeError(f"the save did not start: {answer}")
    return answer


def _committed(checkpointer: Checkpointer) -> None:
    for event in checkpointer.events():
        if not isinstance(event, Committed):
            raise RuntimeError(event.reason)


def measure(ranks: int, mib: int, repeats: int, folder: Path | None) -> dict[str, Any]:
    """Seconds of each repeat.

    Args:
        ranks: Processes.
        mib: Size of the state (model and optimiser).
        repeats: Pairs of a synchronous and an asynchronous save.
        folder: Where checkpoints go, None: a temporary folder.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        (Path(place) / "shared").mkdir()
        answer = Path(place) / "answer.json"
        arguments = (ranks, mib, repeats, place, str(answer))
        start_processes(_rank, arguments, ranks, start_method="spawn")  # type: ignore[no-untyped-call]
        measured: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return measured


def targets(measured: dict[str, Any], ranks: int) -> list[Target]:
    """Judges the measurements."""
    rows = measured["rows"]
    sync = [row[0] for row in rows]
    stall = [row[1] for row in rows]
    slowdown = statistics.median(row[2] for row in rows)
    ratios = [row[1] / row[0] for row in rows]
    return [
        Target(
            name="checkpoint_stall",
            value=round(statistics.median(ratios), 4),
            op="<=",
            bound=BOUND,
            detail=(
                f"stall of an asynchronous over time of a synchronous save, {ranks} ranks, {measured['mib']:.0f} MiB, "
                f"median of {len(rows)} pairs (from {min(ratios):.4f} to {max(ratios):.4f}); synchronous "
                f"{statistics.median(sync):.3f} s, stall {statistics.median(stall):.4f} s; the steps beside the "
                f"writing took {slowdown:.3f} s longer in all"
            ),
        )
    ]


def main() -> int:
    """Measures, prints and judges; 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mib", type=int, default=256, help="size of model and optimiser (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="pairs of saves (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where checkpoints go (default: a temporary folder)")
    options = parser.parse_args()
    measured = measure(options.ranks, options.mib, options.repeats, options.folder)
    return conclude("checkpoint", targets(measured, options.ranks), {**machine(), "torch": torch.__version__})


if __name__ == "__main__":
    sys.exit(main())
