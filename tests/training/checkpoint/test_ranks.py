import os
import random
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from tests.training.checkpoint.distributed_ranks import run_ranks
from tools.bench.small_run import Run
from training.checkpoint import Checkpointer, Failed, Pacer, SnapshotError, load_newest


def ddp(model):
    return nn.parallel.DistributedDataParallel(model)


def fsdp(model):
    mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    for layer in model:
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


WRAPS = {"ddp": ddp, "fsdp": fsdp, "bare": lambda model: model}


def train_and_save(group, rank, folder, wrap, before, after):
    run = Run(rank, WRAPS[wrap])
    checkpointer = Checkpointer(Path(folder), local=Path(folder) / f"local{rank}", group=group)
    run.steps(before)
    checkpointer.save(run.done, run.model, run.optimizers, run.parts)
    losses = run.steps(after)
    assert checkpointer.wait()
    return losses, [str(event) for event in checkpointer.events()], whole(run)


def load_and_train(group, rank, folder, wrap, after, local=False):
    run = Run(rank, WRAPS[wrap])
    own = Path(folder) / f"local{rank}" if local else None
    restored = load_newest(Path(folder), run.model, run.optimizers, run.parts, local=own, group=group)
    parameters, position = whole(run), run.data.value
    return restored, run.steps(after), parameters, position


def whole(run):
    """Parameters and the state of the optimisers, gathered, by name."""
    found = {}
    for name, parameter in run.bare.named_parameters():
        states = [optimizer.state.get(parameter, {}) for optimizer in run.optimizers]
        values = {"": parameter, **{key: value for state in states for key, value in state.items()}}
        for key, value in values.items():
            if isinstance(value, DTensor):
                value = value.full_tensor()
            if isinstance(value, torch.Tensor):
                found[f"{name}.{key}"] = value.detach().clone().numpy()
    return found


def same(one, other):
    return set(one) == set(other) and all((one[name] == other[name]).all() for name in one)


@pytest.mark.parametrize("wrap", ["ddp", "fsdp"])
def test_two_ranks_resume_to_the_last_bit_although_each_has_its_own_numbers(tmp_path, wrap):
    saved = run_ranks(2, train_and_save, str(tmp_path), wrap, 3, 4)
    assert saved[0][0] != saved[1][0]
    assert all("Committed(step=3" in events[0] for _, events, _ in saved)
    loaded = run_ranks(2, load_and_train, str(tmp_path), wrap, 4)
    assert [losses for _, losses, _, _ in loaded] == [losses for losses, _, _ in saved]
    assert all(restored.exact for restored, _, _, _ in loaded)
    # Each tensor was written once: the files of both ranks hold different things.
    sizes = [(tmp_path / "step-00000003/model" / f"__{rank}_0.distcp").stat().st_size for rank in range(2)]
    assert min(sizes) > 1000


@pytest.mark.parametrize(("first", "size", "second"), [("fsdp", 3, "fsdp"), ("fsdp", 3, "ddp"), ("ddp", 1, "bare")])
def test_a_checkpoint_of_two_ranks_goes_on_on_another_number(tmp_path, first, size, second):
    saved = run_ranks(2, train_and_save, str(tmp_path), first, 3, 0)
    loaded = run_ranks(size, load_and_train, str(tmp_path), second, 2)
    for restored, losses, parameters, position in loaded:
        assert (restored.step, restored.exact) == (3, False)
        assert position == 3
        assert same(parameters, saved[0][2])
        assert len(losses) == 2
    # Ranks that go on draw different numbers.
    assert len({losses[0] for _, losses, _, _ in loaded}) == size


def test_all_ranks_fall_back_together_when_a_file_of_one_is_damaged(tmp_path):
    saved = run_ranks(2, train_and_save, str(tmp_path), "ddp", 2, 4)
    run_ranks(2, train_and_save, str(tmp_path), "ddp", 5, 0)
    damaged = tmp_path / "step-00000005/rank-00001.pt"
    content = bytearray(damaged.read_bytes())
    content[-40] ^= 4
    damaged.write_bytes(content)
    loaded = run_ranks(2, load_and_train, str(tmp_path), "ddp", 4)
    assert [restored.step for restored, _, _, _ in loaded] == [2, 2]
    assert loaded[0][0].passed_over == loaded[1][0].passed_over
    assert "rank-00001.pt is damaged" in loaded[0][0].passed_over[0]
    assert [losses for _, losses, _, _ in loaded] == [losses for losses, _, _ in saved]


def test_copies_on_the_nodes_own_disks_are_brought_together(tmp_path):
    saved = run_ranks(2, train_and_save, str(tmp_path), "fsdp", 3, 3)
    for item in (tmp_path / "step-00000003").rglob("*"):
        if item.is_file():
            os.truncate(item, 0)
    loaded = run_ranks(2, load_and_train, str(tmp_path), "fsdp", 3, True)
    assert [losses for _, losses, _, _ in loaded] == [losses for losses, _, _ in saved]


def one_rank_fails(group, rank, folder):
    run = Run(rank, ddp)
    # Rank 1 cannot write to its own disk: a file stands where the folder should be.
    blocked = Path(folder) / f"blocked{rank}"
    if rank == 1:
        blocked.write_text("")
    checkpointer = Checkpointer(Path(folder), local=blocked, group=group)
    run.steps(1)
    checkpointer.save(1, run.model, run.optimizers, run.parts, wait=True)
    events = checkpointer.events()
    run.steps(1)
    return [(type(event) is Failed, event.reason) for event in events]


def test_a_rank_that_cannot_write_makes_the_save_fail_on_all_and_training_goes_on(tmp_path):
    answers = run_ranks(2, one_rank_fails, str(tmp_path))
    assert [answer[0][0] for answer in answers] == [True, True]
    assert "blocked1" in answers[0][0][1]
    assert not list(tmp_path.glob("step-*"))


def bad_state_on_one_rank(group, rank, folder):
    run = Run(rank)
    if rank == 1:
        run.data.state_dict = lambda: {"value": object()}
    try:
        Checkpointer(Path(folder), group=group).save(1, run.model, run.optimizers, run.parts)
    except SnapshotError as error:
        return str(error)
    return "saved"


def test_no_rank_waits_for_one_whose_state_cannot_be_saved(tmp_path):
    answers = run_ranks(2, bad_state_on_one_rank, str(tmp_path))
    assert answers[0] == answers[1]
    assert "rank 1: data.value is a object" in answers[0]


def pace(group, rank):
    # Clocks that run differently must not make ranks save at different steps.
    now_s = 0.0
    pacer = Pacer(0, 10.0, group, clock=lambda: now_s)
    due = []
    for step in range(1, 60):
        now_s += (1.0, 0.25)[rank] * random.uniform(0.5, 1.5)
        if pacer.due(step):
            due.append(step)
            pacer.restart(step)
    return due


def test_all_ranks_save_at_the_same_steps_whatever_their_clocks_say():
    one, other = run_ranks(2, pace)
    assert one == other
    assert len(one) >= 3
