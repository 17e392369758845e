"""Ranks that train, save often, write down every loss, and resume: to be killed at any moment."""

import multiprocessing
import os
import random
import signal
import time
from datetime import timedelta
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "torch.distributed.checkpoint.state_dict", "training.checkpoint"])
SAVE_EVERY = 2


def rank(folder, number, rank, size, steps):
    """One incarnation of a rank: resumes, trains to `steps`, and appends `step loss` lines to its log."""
    import torch
    import torch.distributed as dist

    from tests.training.checkpoint.small_run import Run
    from training.checkpoint import Checkpointer, load_newest

    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / f"store{number}"), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=60))
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
            log.write(f"{run.done} {loss}\n")
            if run.done % SAVE_EVERY == 0:
                checkpointer.save(run.done, run.model, run.optimizers, run.parts)
        checkpointer.save(run.done, run.model, run.optimizers, run.parts, wait=True)
        log.write("finished\n")
    dist.barrier()


class Ranks:
    """All ranks of an incarnation."""

    def __init__(self, folder, number, size, steps):
        self.processes = [
            CONTEXT.Process(target=rank, args=(folder, number, index, size, steps)) for index in range(size)
        ]
        for process in self.processes:
            process.start()

    def wait(self, timeout_s):
        """Waits for all to end by themselves; whether they did, and well."""
        deadline = time.monotonic() + timeout_s
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
        return all(process.exitcode == 0 for process in self.processes)

    def kill(self, first):
        """SIGKILL to one, then, as a supervisor does, to the others."""
        for process in [self.processes[first], *self.processes]:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.join()


def losses(folder, size):
    """All losses that were written down, by (rank, step); a set, because a step may have run several times."""
    found = {}
    for index in range(size):
        for line in (folder / f"rank{index}.log").read_text().splitlines():
            step, _, loss = line.partition(" ")
            if step.isdigit() and loss.endswith(tuple("0123456789")):
                found.setdefault((index, int(step)), set()).add(loss)
    return found


def resumes(folder):
    """The steps at which the first rank resumed."""
    lines = (folder / "rank0.log").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("resumed ")]


def trial(folder: Path, kills: int, seed: int, size: int = 2, reference_steps: int = 400):
    """Kills a run `kills` times at random moments, resuming it each time.

    Returns the reference's losses, those of the killed run, and the steps of its resumes.
    """
    draw = random.Random(seed)
    for name in ("reference", "killed"):
        (folder / name / "shared").mkdir(parents=True)
    uninterrupted = Ranks(folder / "reference", 0, size, reference_steps)
    assert uninterrupted.wait(300), "the uninterrupted run failed"
    for number in range(kills):
        ranks = Ranks(folder / "killed", number, size, reference_steps)
        log = folder / "killed" / "rank0.log"
        before = log.stat().st_size if log.exists() else 0
        # Counted from the first step on, or the kill would mostly hit the start-up.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not log.exists() or log.stat().st_size <= before):
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.4))
        ranks.kill(draw.randrange(size))
    last = resumes(folder / "killed")[-1]
    ranks = Ranks(folder / "killed", kills, size, max(last, resumes(folder / "killed")[-1]) + 2 * SAVE_EVERY)
    assert ranks.wait(120), "the run does not resume"
    return (
        losses(folder / "reference", size),
        losses(folder / "killed", size),
        resumes(folder / "killed"),
    )
