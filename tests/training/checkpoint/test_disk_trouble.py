import os
import resource
import shutil
import signal
import subprocess
from contextlib import contextmanager

import pytest

from tools.bench.small_run import Run
from training.checkpoint import Checkpointer, Committed, Failed, load_newest, writer
from training.checkpoint import files as operations
from training.checkpoint.layout import scan


def load(folder, run):
    return load_newest(folder, run.model, run.optimizers, run.parts)


def save(checkpointer, run):
    checkpointer.save(run.done, run.model, run.optimizers, run.parts, wait=True)
    (event,) = checkpointer.events()
    return event


@contextmanager
def largest_file(size):
    """No file may grow beyond `size` bytes: the write fails as on a full disk, in this process alone."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("local", [None, "local"])
@pytest.mark.parametrize("size", [100, 6000])
def test_a_write_that_fails_harms_only_that_save(tmp_path, size, local):
    shared = tmp_path / "shared"
    shared.mkdir()
    run, checkpointer = Run(), Checkpointer(shared, local=local and tmp_path / local)
    run.steps(2)
    assert isinstance(save(checkpointer, run), Committed)
    run.steps(2)
    with largest_file(size):
        event = save(checkpointer, run)
    assert isinstance(event, Failed)
    assert "the checkpoint of step 4 was not committed" in event.reason
    assert "Training goes on" in event.reason
    assert [(entry.step, entry.problem) for entry in scan(shared)] == [(2, None)]
    run.steps(1)
    assert isinstance(save(checkpointer, run), Committed)
    losses, other = run.steps(2), Run()
    assert load(shared, other).step == 5
    assert other.steps(2) == losses


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "SPARE_BYTES", -(10**9))  # The check before the write is tested below.
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", full], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"this machine may not mount: {mounted.stderr.decode()}")
    try:
        run, checkpointer = Run(), Checkpointer(full)
        run.steps(1)
        assert isinstance(save(checkpointer, run), Committed)
        (full / "rubbish").write_bytes(b"x" * (full_bytes(full) - 8192))
        run.steps(1)
        event = save(checkpointer, run)
        assert isinstance(event, Failed)
        assert "No space left on device" in event.reason
        (full / "rubbish").unlink()
        run.steps(1)
        assert isinstance(save(checkpointer, run), Committed)
        losses, other = run.steps(2), Run()
        assert load(full, other).step == 3
        assert other.steps(2) == losses
    finally:
        subprocess.run(["umount", full], check=True)


def full_bytes(folder):
    return shutil.disk_usage(folder).free


def test_a_disk_that_is_too_small_is_not_filled_first(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "SPARE_BYTES", 2**60)
    event = save(Checkpointer(tmp_path), Run())
    assert isinstance(event, Failed)
    assert "MiB free, and rank 0 needs" in event.reason
    assert not list(tmp_path.rglob("*.distcp"))


def test_a_shared_folder_that_is_gone_is_not_made_anew_and_its_save_is_brought_back(tmp_path):
    shared, local = tmp_path / "data", tmp_path / "local"
    shared.mkdir()
    run, checkpointer = Run(), Checkpointer(shared, local=local)
    run.steps(1)
    assert isinstance(save(checkpointer, run), Committed)
    shared.rename(tmp_path / "away")
    run.steps(2)
    event = save(checkpointer, run)
    assert isinstance(event, Failed)
    assert f"{shared}: the folder is gone; is the file system mounted?" in event.reason
    assert not shared.exists()
    losses = run.steps(2)
    (tmp_path / "away").rename(shared)
    other = Run()
    restored = load_newest(shared, other.model, other.optimizers, other.parts, local=local)
    assert restored.step == 3
    assert other.steps(2) == losses
    assert [(entry.step, entry.problem) for entry in scan(shared)] == [(3, None), (1, None)]


def test_the_nodes_own_copy_replaces_a_damaged_shared_one(tmp_path):
    shared, local = tmp_path / "data", tmp_path / "local"
    shared.mkdir()
    run, checkpointer = Run(), Checkpointer(shared, local=local)
    run.steps(1)
    save(checkpointer, run)
    run.steps(1)
    save(checkpointer, run)
    os.truncate(shared / "step-00000002/rank-00000.pt", 10)
    losses, other = run.steps(2), Run()
    assert load_newest(shared, other.model, other.optimizers, other.parts, local=local).step == 2
    assert other.steps(2) == losses


class Dead(BaseException):
    """Stands for a power failure: nothing after it runs, no clean-up either."""


CHANGES = (
    "write_file",
    "write_file_in",
    "copy_file",
    "rename",
    "make_folder",
    "remove_folder",
    "sync_file",
    "sync_folder",
)


class Power:
    """Fails before the n-th change of the disk; from then on no operation does anything."""

    def __init__(self, monkeypatch):
        self.left = None
        self.count = 0
        for name in CHANGES:
            monkeypatch.setattr(operations, name, self.wrapped(getattr(operations, name)))

    def wrapped(self, operation):
        def run(*arguments):
            self.count += 1
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise Dead
            return operation(*arguments)

        return run


def test_after_a_crash_at_any_change_of_the_disk_a_whole_checkpoint_is_found(tmp_path, monkeypatch):
    power = Power(monkeypatch)
    shared, local = tmp_path / "shared", tmp_path / "local"
    shared.mkdir()
    run = Run()
    run.steps(1)
    save(Checkpointer(shared, local=local, keep=1), run)
    power.count = 0
    run.steps(1)
    save(Checkpointer(shared, local=local, keep=1), run)
    assert power.count > 20
    seen = set()
    for point in range(power.count):
        shutil.rmtree(shared)
        shutil.rmtree(local)
        shared.mkdir()
        run = Run()
        run.steps(1)
        power.left = None
        save(Checkpointer(shared, local=local, keep=1), run)
        run.steps(1)
        checkpointer = Checkpointer(shared, local=local, keep=1)
        snapshot = checkpointer._snapshotter.take(2, "abcd", run.model, run.optimizers, run.parts)
        power.left = point
        with pytest.raises(Dead):
            checkpointer._write_parts(snapshot)
        power.left = None
        for source in (None, local):
            other = Run()
            restored = load_newest(shared, other.model, other.optimizers, other.parts, local=source)
            assert restored.step in (1, 2), point
            assert other.data.value == restored.step
            seen.add((source is None, restored.step))
    # Early crashes leave the old checkpoint, late ones the new one, and the own copy brings the new one back.
    assert seen == {(True, 1), (True, 2), (False, 1), (False, 2)}
