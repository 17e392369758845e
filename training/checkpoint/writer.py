"""Saves checkpoints while training goes on.

`save` copies the state to host memory at the step border and returns; a thread writes it to the node's own
disk, copies it to the shared folder and commits. A full disk or a shared folder that is gone is reported and
harms nothing but that save.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn
from torch.distributed import ProcessGroup
from torch.optim import Optimizer

from training.checkpoint import files, layout
from training.checkpoint.agreement import everyone
from training.checkpoint.local_copy import write_local
from training.checkpoint.part import write_part
from training.checkpoint.parts import Part
from training.checkpoint.publish import (
    PublishError,
    Target,
    copy_part,
    give_up,
    publish,
    temporary_folder,
)
from training.checkpoint.snapshot import Snapshot, Snapshotter

COMMIT_TIMEOUT_S = 600.0
# Tables and rank states on top of the tensors, and room for what else runs on the node.
SPARE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Started:
    """A save began: the state is copied, training may go on.

    Attributes:
        step: Steps done.
        stall_s: Seconds that it held up training.
    """

    step: int
    stall_s: float


@dataclass(frozen=True)
class NotStarted:
    """A save was left out, on all ranks alike.

    Attributes:
        step: Steps done.
        reason: A sentence.
    """

    step: int
    reason: str


@dataclass(frozen=True)
class Committed:
    """A checkpoint is complete and can be resumed from.

    Attributes:
        step: Of the checkpoint.
        seconds: From the step border to the commit marker.
        nbytes: Written by this rank.
    """

    step: int
    seconds: float
    nbytes: int


@dataclass(frozen=True)
class Failed:
    """A save came to nothing; older checkpoints are as they were.

    Attributes:
        step: Of the save.
        reason: A sentence.
    """

    step: int
    reason: str


Event = Committed | Failed


class Checkpointer:
    """Saves one run. All methods are called on the training thread, on every rank alike."""

    def __init__(
        self,
        shared: Path,
        *,
        local: Path | None = None,
        group: ProcessGroup | None = None,
        keep: int = 3,
        keep_local: int = 1,
        commit_timeout_s: float = COMMIT_TIMEOUT_S,
    ) -> None:
        """Writes nothing yet.

        Args:
            shared: The folder that all ranks see, one for each run; made by whoever starts the run.
            local: A folder on the node's own disk; None writes to the shared folder at once.
            group: The ranks, None for one process.
            keep: Checkpoints that stay in the shared folder.
            keep_local: Copies that stay on the node's own disk, for each rank.
            commit_timeout_s: How long a save waits for the other ranks' parts.

        Raises:
            ValueError: keep or keep_local is less than 1.
        """
        for name, value in (("keep", keep), ("keep_local", keep_local)):
            if value < 1:
                raise ValueError(f"{name} is {value}, but at least 1 checkpoint must stay")
        self._target = Target(shared, keep, commit_timeout_s)
        self._local, self._keep_local = local, keep_local
        self._group = group
        self._snapshotter = Snapshotter(group)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._since_s = 0.0

    def save(
        self,
        step: int,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        parts: Mapping[str, Part] | None = None,
        *,
        wait: bool = False,
    ) -> Started | NotStarted:
        """Saves the state after `step` steps. A collective: call it on every rank at the same step border.

        Args:
            step: Steps done.
            model: As it trains: bare, DDP or FSDP2.
            optimizers: In an order that stays.
            parts: Whatever else has a state, by name: scheduler, scaler, data position, shares.
            wait: Finish the save before this one, and this one, before returning: for the end of a run.

        Returns:
            What began, or why nothing did: a save of a rank was still being written.

        Raises:
            SnapshotError: A state of some rank cannot be saved; raised on all ranks.
        """
        begin = time.perf_counter()
        if wait:
            self.wait()
        busy = ""
        if self._thread is not None and self._thread.is_alive():
            busy = f"is still writing since {time.monotonic() - self._since_s:.0f} s"
        answers = everyone(self._group, (busy, secrets.token_hex(8)))
        late = [f"rank {rank} {answer[0]}" for rank, answer in enumerate(answers) if answer[0]]
        if late:
            return NotStarted(step, f"no checkpoint at step {step}: of the one before, {'; '.join(late)}")
        snapshot = self._snapshotter.take(step, answers[0][1], model, optimizers, dict(parts or {}))
        self._since_s = time.monotonic()
        # A daemon: a disk that hangs for ever must not keep the process from ending.
        self._thread = threading.Thread(target=self._write, args=(snapshot,), name=f"checkpoint-{step}", daemon=True)
        self._thread.start()
        stall_s = time.perf_counter() - begin
        if wait:
            self.wait()
        return Started(step, stall_s)

    def events(self) -> list[Event]:
        """What became of saves since the last call, oldest first. Not a collective; costs nothing."""
        found: list[Event] = []
        while not self._events.empty():
            found.append(self._events.get())
        return found

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until nothing is being written; whether that is so.

        Args:
            timeout_s: How long at most, None for as long as a commit may take.
        """
        if self._thread is None:
            return True
        # Written after its own deadline at the latest, unless the disk itself hangs.
        self._thread.join(2 * self._target.timeout_s if timeout_s is None else timeout_s)
        return not self._thread.is_alive()

    def _write(self, snapshot: Snapshot) -> None:
        """The thread: whatever happens ends in an event."""
        begin = time.monotonic()
        try:
            self._write_parts(snapshot)
        except OSError as error:
            path = error.filename or self._target.shared
            reason = f"{path}: {error.strerror or error}"
        except PublishError as error:
            reason = str(error)
        except Exception as error:  # A bug or a broken library must reach the log, not end unseen.
            reason = f"{type(error).__name__}: {error}"
        else:
            seconds = time.monotonic() - begin + snapshot.stall_s
            self._events.put(Committed(snapshot.step, seconds, snapshot.nbytes))
            return
        self._withdraw(snapshot, reason)
        self._events.put(
            Failed(
                snapshot.step,
                f"the checkpoint of step {snapshot.step} was not committed: {reason}. Training goes on; the "
                "checkpoints before are as they were.",
            )
        )

    def _write_parts(self, snapshot: Snapshot) -> None:
        target, copy = self._target, None
        if self._local is not None:
            files.make_folder(self._local)
            _check_space(self._local, snapshot)
            copy = write_local(self._local, snapshot, self._keep_local)
        folder = temporary_folder(target, snapshot.step, snapshot.save_id)
        _check_space(target.shared, snapshot)
        if copy is None:
            note = write_part(folder, snapshot)
        else:
            note = copy.note
            copy_part(copy.path, folder, note)
        publish(target, folder, note, snapshot.metadata)

    def _withdraw(self, snapshot: Snapshot, reason: str) -> None:
        """Frees the space and tells the other ranks."""
        folder = self._target.shared / layout.temporary_name(snapshot.step, snapshot.save_id)
        model = folder / layout.MODEL
        # The folder may be gone, or the disk broken; then there is nothing to free.
        with contextlib.suppress(OSError):
            for path in (*model.glob(f"__{snapshot.rank}_*"), folder / layout.rank_file(snapshot.rank)):
                path.unlink(missing_ok=True)
        give_up(folder, snapshot.rank, reason)


def _check_space(folder: Path, snapshot: Snapshot) -> None:
    """Refuses before writing what would not fit, so that a shared disk is not filled to the last byte.

    Raises:
        PublishError: There is not enough room.
        OSError: The folder is gone.
    """
    free = shutil.disk_usage(folder).free
    if free < snapshot.nbytes + SPARE_BYTES:
        raise PublishError(
            f"{folder} has {free / 2**20:.0f} MiB free, and rank {snapshot.rank} needs "
            f"{(snapshot.nbytes + SPARE_BYTES) / 2**20:.0f} MiB. Remove what is not needed there"
        )
