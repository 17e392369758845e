"""Runs a function on several ranks, each a process with gloo over a file store on this machine."""

import multiprocessing
import tempfile
import traceback
from datetime import timedelta
from pathlib import Path

# Forked from a server that has imported torch once, so that a rank starts in milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "torch.distributed.checkpoint.state_dict", "training.checkpoint"])
ANSWER_S = 120


def run_ranks(size, function, *arguments):
    """What `function(group, rank, *arguments)` returns on each rank."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(size):
            here, there = CONTEXT.Pipe()
            process = CONTEXT.Process(
                target=_rank, args=(there, Path(folder) / "store", rank, size, function, arguments)
            )
            process.start()
            there.close()
            ranks.append((process, here))
        answers = []
        try:
            for rank, (_, pipe) in enumerate(ranks):
                assert pipe.poll(ANSWER_S), f"rank {rank} did not answer"
                answers.append(pipe.recv())
        finally:
            for process, _ in ranks:
                process.join(10)
                process.kill()
    for rank, (ok, value) in enumerate(answers):
        assert ok, f"rank {rank}:\n{value}"
    return [value for _, value in answers]


def _rank(pipe, store, rank, size, function, arguments):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{store}", rank=rank, world_size=size, timeout=timedelta(seconds=60)
        )
        pipe.send((True, function(dist.group.WORLD, rank, *arguments)))
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        pipe.send((False, traceback.format_exc()))
