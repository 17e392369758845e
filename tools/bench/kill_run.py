"""Ranks that train, save often, write down every loss, and resume: to be killed at any moment."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

# Forked from a server that has imported torch once, so that a rank starts in milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "torch.distributed.checkpoint.state_dict", "training.checkpoint"])
SAVE_EVERY = 2
START_S = 60.0
# Several saves are begun and finished in that time.
LATEST_KILL_S = 0.4

Losses = dict[tuple[int, int], set[str]]


@dataclass(frozen=True)
class Trial:
    """What came of a run that was killed again and again.

    Attributes:
        reference: Losses of the uninterrupted run, by (rank, step).
        killed: Those of the killed one; a set, because a step may have run several times.
        resumed_at: The step at which each incarnation went on.
    """

    reference: Losses
    killed: Losses
    resumed_at: list[int]

    @property
    def compared(self) -> int:
        """Losses that both runs have."""
        return len(set(self.reference) & set(self.killed))

    @property
    def differing(self) -> list[tuple[int, int]]:
        """Rank and step of losses that are not those of the uninterrupted run, to the last bit."""
        common = set(self.reference) & set(self.killed)
        return sorted(key for key in common if self.killed[key] != self.reference[key])


def incarnation(folder: Path, number: int, rank: int, size: int, steps: int) -> None:
    """One life of a rank: resumes, trains to `steps`, and appends `step loss` lines to its log."""
    import torch
    import torch.distributed as dist

    from tools.bench.small_run import Run
    from training.checkpoint import Checkpointer, load_newest

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store{number}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=60),
    )
    group = dist.group.WORLD
    run = Run(rank, torch.nn.parallel.DistributedDataParallel)
    shared, local = folder / "shared", folder / f"local{rank}"
    restored = load_newest(shared, run.model, run.optimizers, run.parts, local=local, group=group)
    run.done = restored.step if restored else 0
    checkpointer = Checkpointer(shared, local=local, group=group, commit_timeout_s=60)
    with (folder / f"rank{rank}.log").open("a", buffering=1) as log:
        log.write(f"resumed {run.done}\n")
        while run.done < steps:
            loss = run.step()
            log.write(f"{run.done} {loss} .\n")
            if run.done % SAVE_EVERY == 0:
                checkpointer.save(run.done, run.model, run.optimizers, run.parts)
        checkpointer.save(run.done, run.model, run.optimizers, run.parts, wait=True)
    dist.barrier()


class Ranks:
    """All ranks of an incarnation."""

    def __init__(self, folder: Path, number: int, size: int, steps: int) -> None:
        self._processes = [
            CONTEXT.Process(target=incarnation, args=(folder, number, index, size, steps)) for index in range(size)
        ]
        for process in self._processes:
            process.start()

    def wait(self, timeout_s: float) -> bool:
        """Waits for all to end by themselves; whether they did, and well."""
        deadline = time.monotonic() + timeout_s
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
        well = all(process.exitcode == 0 for process in self._processes)
        self.kill(0)
        return well

    def kill(self, first: int) -> None:
        """SIGKILL to one, then, as a supervisor does, to the others."""
        for process in [self._processes[first], *self._processes]:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
        for process in self._processes:
            process.join()


def losses(folder: Path, size: int) -> Losses:
    """All losses that were written down completely."""
    found: Losses = {}
    for rank in range(size):
        for line in (folder / f"rank{rank}.log").read_text(encoding="utf-8").splitlines():
            match line.split():
                case [step, loss, "."]:
                    found.setdefault((rank, int(step)), set()).add(loss)
    return found


def resumed_at(folder: Path) -> list[int]:
    """The steps at which the first rank went on."""
    lines = (folder / "rank0.log").read_text(encoding="utf-8").splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("resumed ")]


def trial(folder: Path, kills: int, seed: int, steps: int, size: int = 2) -> Trial:
    """Kills a run at random moments, and resumes it each time.

    Args:
        folder: An empty folder.
        kills: How many times.
        seed: Of the moments and the ranks.
        steps: Of the uninterrupted run; the killed one is not trained beyond.
        size: Ranks.

    Raises:
        RuntimeError: A run fails without having been killed.
    """
    draw = random.Random(seed)
    for name in ("reference", "killed"):
        (folder / name / "shared").mkdir(parents=True)
    killed, log = folder / "killed", folder / "killed" / "rank0.log"
    if not Ranks(folder / "reference", 0, size, steps).wait(START_S + steps):
        raise RuntimeError("the uninterrupted run failed")
    for number in range(kills):
        before = log.stat().st_size if log.exists() else 0
        ranks = Ranks(killed, number, size, steps)
        # Counted from the resume on, or most kills would hit the start-up.
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and (not log.exists() or log.stat().st_size <= before):
            time.sleep(0.01)
        time.sleep(draw.uniform(0, LATEST_KILL_S))
        ranks.kill(draw.randrange(size))
    if not Ranks(killed, kills, size, min(steps, resumed_at(killed)[-1] + 10 * SAVE_EVERY)).wait(START_S * 2):
        raise RuntimeError(f"the run does not resume after {kills} kills")
    return Trial(losses(folder / "reference", size), losses(killed, size), resumed_at(killed))
