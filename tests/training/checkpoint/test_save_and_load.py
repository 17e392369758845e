import os
import random
import threading

import numpy as np
import pytest
import torch
from torch import nn

from tools.bench.small_run import Position, Run
from training.checkpoint import Checkpointer, Committed, NotStarted, SnapshotError, Started, load_newest
from training.checkpoint.layout import scan, step_name
from training.errors import InputError


def save(checkpointer, run):
    started = checkpointer.save(run.done, run.model, run.optimizers, run.parts, wait=True)
    assert isinstance(started, Started)
    (event,) = checkpointer.events()
    assert isinstance(event, Committed), event
    return event


def load(folder, run, **options):
    return load_newest(folder, run.model, run.optimizers, run.parts, **options)


@pytest.fixture
def saved(tmp_path):
    """Checkpoints of steps 2, 4 and 6, and the losses of the six steps after each."""
    run, checkpointer = Run(), Checkpointer(tmp_path, keep=5)
    losses = []
    for _ in range(3):
        losses += run.steps(2)
        save(checkpointer, run)
    losses += run.steps(6)
    return tmp_path, losses


def test_the_steps_after_a_resume_are_those_of_the_uninterrupted_run(saved):
    folder, losses = saved
    run = Run()
    random.random(), np.random.random(), torch.rand(3)
    restored = load(folder, run)
    assert (restored.step, restored.exact, restored.passed_over) == (6, True, ())
    assert run.data.value == 6
    assert run.steps(6) == losses[6:]


def test_training_may_go_on_while_it_is_written(tmp_path):
    run, checkpointer = Run(), Checkpointer(tmp_path, local=tmp_path / "local")
    run.steps(3)
    assert isinstance(checkpointer.save(3, run.model, run.optimizers, run.parts), Started)
    losses = run.steps(5)
    assert checkpointer.wait()
    assert [event.step for event in checkpointer.events()] == [3]
    other = Run()
    assert load(tmp_path, other).step == 3
    assert other.steps(5) == losses


def test_there_is_nothing_to_load_at_first(tmp_path):
    assert load(tmp_path, Run()) is None


DAMAGE = {
    "truncated": lambda path: os.truncate(path / "model/__0_0.distcp", 100),
    "empty": lambda path: os.truncate(path / "rank-00000.pt", 0),
    "longer": lambda path: (path / "rank-00000.pt").open("ab").write(b"x"),
    "missing": lambda path: (path / "model/.metadata").unlink(),
    "no marker": lambda path: (path / "COMMITTED").unlink(),
    "marker alone": lambda path: [
        item.unlink() for item in path.rglob("*") if item.name != "COMMITTED" and item.is_file()
    ],
    "marker of another": lambda path: (path / "COMMITTED").write_text("0" * 64 + "\n"),
    "manifest cut": lambda path: os.truncate(path / "manifest.json", 50),
    "link": lambda path: ((path / "rank-00000.pt").unlink(), (path / "rank-00000.pt").symlink_to("/dev/zero")),
}


def flip(path, byte):
    with path.open("r+b") as stream:
        stream.seek(byte)
        value = stream.read(1)[0]
        stream.seek(byte)
        stream.write(bytes([value ^ 1]))


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_passed_over_with_the_reason(saved, damage):
    folder, losses = saved
    DAMAGE[damage](folder / step_name(6))
    run = Run()
    restored = load(folder, run)
    assert restored.step == 4
    (reason,) = restored.passed_over
    assert reason.startswith("step-00000006: ")
    assert run.steps(6) == losses[4:10]


def test_a_flipped_bit_anywhere_is_found(saved):
    folder, losses = saved
    sixth, fourth = folder / step_name(6), folder / step_name(4)
    flip(sixth / "model/__0_0.distcp", (sixth / "model/__0_0.distcp").stat().st_size // 2)
    flip(fourth / "rank-00000.pt", 200)
    run = Run()
    restored = load(folder, run)
    assert restored.step == 2
    assert "__0_0.distcp is damaged: its SHA-256" in restored.passed_over[0]
    assert "rank-00000.pt is damaged: its SHA-256" in restored.passed_over[1]
    assert run.steps(4) == losses[2:6]


def test_when_all_are_damaged_the_run_does_not_silently_start_anew(saved):
    folder, _ = saved
    for step in (2, 4, 6):
        flip(folder / step_name(step) / "rank-00000.pt", 300)
    run = Run()
    before = [item.clone() for item in run.bare.parameters()]
    with pytest.raises(InputError, match="none of the 3 checkpoints can be used") as caught:
        load(folder, run)
    assert "step-00000002" in str(caught.value)
    assert all(torch.equal(a, b) for a, b in zip(before, run.bare.parameters(), strict=True))


def test_a_damaged_checkpoint_is_replaced_when_its_step_comes_again(saved):
    folder, losses = saved
    flip(folder / step_name(6) / "rank-00000.pt", 300)
    run = Run()
    run.done = load(folder, run).step
    run.steps(2)
    save(Checkpointer(folder), run)
    again = Run()
    restored = load(folder, again)
    assert (restored.step, restored.passed_over) == (6, ())
    assert again.steps(3) == losses[6:9]
    assert not [item.name for item in folder.iterdir() if item.name.startswith(".")]


def test_keep_removes_the_oldest(tmp_path):
    run, checkpointer = Run(), Checkpointer(tmp_path, keep=2)
    for _ in range(4):
        run.step()
        save(checkpointer, run)
    assert [item.name for item in sorted(tmp_path.iterdir())] == [step_name(3), step_name(4)]


def test_another_model_is_refused_by_name(saved):
    folder, _ = saved
    with pytest.raises(InputError) as caught:
        load(folder, Run(width=32))
    message = str(caught.value)
    assert "is a checkpoint of another model" in message
    assert "0.weight is float32[16, 8] there and float32[32, 8] here" in message


def test_another_optimiser_is_refused_by_name(saved):
    folder, _ = saved
    run = Run()
    run.optimizers[1] = torch.optim.Adam(run.bare[4].parameters())
    with pytest.raises(InputError, match="the optimiser is AdamW, SGD there and AdamW, Adam here"):
        load(folder, run)


def test_layers_that_are_only_there_or_only_here_are_named(saved):
    folder, _ = saved
    run = Run()
    del run.bare[4]
    run.bare.extra = nn.Linear(1, 1)
    with pytest.raises(InputError) as caught:
        load(folder, run)
    assert "4.bias, 4.weight only in the checkpoint" in str(caught.value)
    assert "extra.bias, extra.weight only in this model" in str(caught.value)


def test_a_part_that_was_not_saved_is_named(saved):
    folder, _ = saved
    run = Run()
    with pytest.raises(InputError, match="holds no scaler: it was saved by a job without"):
        load_newest(folder, run.model, run.optimizers, {**run.parts, "scaler": Position()})


@pytest.mark.parametrize("value", [object(), np.float64(1), {1, 2}, {"deep": [np.zeros(2)]}])
def test_a_state_that_could_not_be_read_back_is_refused_when_it_is_saved(tmp_path, value):
    class Odd(Position):
        def state_dict(self):
            return {"position": value}

    run = Run()
    with pytest.raises(SnapshotError, match=r"rank 0: odd\.position.* is a .*which a checkpoint does not keep"):
        Checkpointer(tmp_path).save(1, run.model, run.optimizers, {"odd": Odd()})
    assert list(tmp_path.iterdir()) == []


def test_huge_steps(tmp_path):
    run = Run()
    checkpointer = Checkpointer(tmp_path, keep=3)
    run.step()
    for step in (99_999_999, 10**17, 10**9):
        checkpointer.save(step, run.model, run.optimizers, run.parts, wait=True)
    assert [entry.step for entry in scan(tmp_path)] == [10**17, 10**9, 99_999_999]
    assert load(tmp_path, Run()).step == 10**17


def test_foreign_names_in_the_folder_do_no_harm(saved):
    folder, losses = saved
    for name in ("._step-00000009", "step-00000008.bak", "step-9", ".DS_Store", "step-00000007~", "a\nb"):
        (folder / name).mkdir()
    run = Run()
    assert load(folder, run).step == 6
    assert run.steps(1) == losses[6:7]
    save(Checkpointer(folder, keep=1), run)
    assert (folder / "._step-00000009").exists()
    assert (folder / "a\nb").exists()


def test_two_writers_of_one_step_leave_one_whole_checkpoint(tmp_path):
    runs = []
    for _ in range(2):
        # One after the other: they draw from the same generators, and must be at the same point.
        runs.append(Run())
        runs[-1].steps(3)
    writers = [Checkpointer(tmp_path), Checkpointer(tmp_path)]
    for _ in range(5):
        for writer, run in zip(writers, runs, strict=True):
            writer.save(3, run.model, run.optimizers, run.parts)
        for writer in writers:
            writer.wait()
            assert all(isinstance(event, Committed) for event in writer.events())
        (entry,) = scan(tmp_path)
        assert entry.problem is None
    losses, other = runs[0].steps(3), Run()
    assert load(tmp_path, other).step == 3
    assert other.steps(3) == losses


def test_a_save_while_another_is_written_is_left_out_and_said(tmp_path, monkeypatch):
    from training.checkpoint import writer

    gate = threading.Event()
    publish = writer.publish
    monkeypatch.setattr(writer, "publish", lambda *a: (gate.wait(60), publish(*a)))
    run, checkpointer = Run(), Checkpointer(tmp_path)
    checkpointer.save(1, run.model, run.optimizers)
    left_out = checkpointer.save(2, run.model, run.optimizers)
    gate.set()
    assert isinstance(left_out, NotStarted)
    assert "no checkpoint at step 2" in left_out.reason
    assert "rank 0 is still writing" in left_out.reason
    assert checkpointer.wait()
    assert [event.step for event in checkpointer.events()] == [1]


def test_dcp_itself_reads_what_was_written(saved):
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    folder, _ = saved
    dcp_to_torch_save(folder / step_name(6) / "model", folder / "whole.pt")
    run = Run()
    load(folder, run)
    whole = torch.load(folder / "whole.pt", weights_only=True)
    assert torch.equal(whole["model"]["0.weight"], run.bare[0].weight)


def test_keeping_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="keep is 0"):
        Checkpointer(tmp_path, keep=0)
