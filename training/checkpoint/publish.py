"""Brings the parts of all ranks together in the shared folder and commits them.

Ranks talk through the folder alone: each puts its files and then a note into a temporary folder; the first
rank waits for all notes, writes table of contents and manifest, renames the folder, and writes the marker.
So no collective is needed while training goes on, and a rank may die at any moment: what is not marked is not
a checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch.distributed.checkpoint.metadata import Metadata

from training.checkpoint import files, layout
from training.checkpoint.fingerprint import fingerprint
from training.checkpoint.manifest import FORMAT, Manifest, ManifestError, digest
from training.checkpoint.part import METADATA, PartNote, decode_part, entry_of, write_metadata

POLL_S = 0.02
LONGEST_POLL_S = 0.5
# NFS clients look at a folder anew after at most 60 s (`acdirmax` in nfs(5)); a marker may be seen that late.
VISIBLE_S = 90.0
# A save that nobody has touched for so long was left by a run that died.
STALE_S = 600.0


class PublishError(Exception):
    """The checkpoint was not committed; the message says why and by whose fault."""


@dataclass(frozen=True)
class Target:
    """Where and how to commit.

    Attributes:
        shared: The folder that all ranks see.
        keep: Checkpoints that stay.
        timeout_s: How long to wait for the other ranks.
    """

    shared: Path
    keep: int
    timeout_s: float


def temporary_folder(target: Target, step: int, save_id: str) -> Path:
    """The folder in which the parts come together; made here.

    Raises:
        OSError: The shared folder is gone or read-only.
    """
    if not target.shared.is_dir():
        # Making it would hide a file system that is not mounted behind a folder on the system's disk.
        raise FileNotFoundError(2, "the folder is gone; is the file system mounted?", str(target.shared))
    folder = target.shared / layout.temporary_name(step, save_id)
    files.make_folder(folder)
    return folder


def copy_part(source: Path, target: Path, note: PartNote) -> None:
    """Copies a rank's files to the shared folder.

    Args:
        source: The rank's own copy.
        target: The temporary folder.
        note: Names the files.

    Raises:
        OSError: A file cannot be read or written.
        PublishError: The own copy is damaged.
    """
    files.make_folder(target / layout.MODEL)
    for name, entry in note.files.items():
        if files.copy_file(source / name, target / name) != entry.sha256:
            raise PublishError(f"{source / name} is damaged: its SHA-256 is not the one it was written with")
    files.sync_folder(target / layout.MODEL)


def publish(target: Target, folder: Path, note: PartNote, metadata: Metadata) -> None:
    """Hands in a rank's part and returns when the checkpoint is committed.

    Args:
        target: Where.
        folder: The temporary folder, with this rank's files in it.
        note: Of this rank.
        metadata: DCP's, used by the first rank.

    Raises:
        OSError: The shared folder fails.
        PublishError: Another rank failed or was not ready in time.
    """
    files.write_file(folder / layout.part_file(note.rank), note.encode())
    if note.rank == 0:
        notes = _await_parts(folder, note, target.timeout_s)
        commit(target, folder, notes, metadata)
    else:
        _await_commit(target, folder, note)


def give_up(folder: Path, rank: int, reason: str) -> None:
    """Tells the other ranks that this part will never come, as far as that is possible."""
    with contextlib.suppress(OSError):
        # This rank may have failed before it made the folder; its parent is never made, see above.
        folder.mkdir(exist_ok=True)
        content = json.dumps({"format": FORMAT, "rank": rank, "reason": reason}).encode()
        files.write_file(folder / layout.failure_file(rank), content)


def _await_parts(folder: Path, own: PartNote, timeout_s: float) -> list[PartNote]:
    """The notes of all ranks."""
    notes: dict[int, PartNote] = {own.rank: own}

    def arrived() -> bool:
        for rank in range(own.world_size):
            _raise_failure(folder, rank)
            if rank in notes:
                continue
            with contextlib.suppress(FileNotFoundError):
                try:
                    notes[rank] = decode_part((folder / layout.part_file(rank)).read_bytes())
                except ManifestError as error:
                    raise PublishError(f"the note of rank {rank} cannot be used: {error}") from error
        return len(notes) == own.world_size

    if not _poll(arrived, timeout_s):
        late = ", ".join(str(rank) for rank in range(own.world_size) if rank not in notes)
        raise PublishError(f"rank {late} did not hand in its part within {timeout_s:g} s")
    return [notes[rank] for rank in range(own.world_size)]


def _await_commit(target: Target, folder: Path, note: PartNote) -> None:
    """Waits for the first rank's marker."""
    final = target.shared / layout.step_name(note.step)
    gone_since: list[float] = []

    def committed() -> bool:
        entry = layout.look(final, note.step)
        if entry.manifest is not None and entry.manifest.save_id == note.save_id:
            return True
        for rank in range(note.world_size):
            _raise_failure(folder, rank)
        if folder.exists():
            gone_since.clear()
        elif not gone_since:
            gone_since.append(time.monotonic())
        elif time.monotonic() - gone_since[0] > VISIBLE_S:
            raise PublishError("the first rank removed the save, but no marker appeared")
        return False

    if not _poll(committed, target.timeout_s):
        raise PublishError(f"the first rank did not commit within {target.timeout_s:g} s")


def _raise_failure(folder: Path, rank: int) -> None:
    try:
        values = json.loads((folder / layout.failure_file(rank)).read_bytes())
    except (OSError, ValueError):
        return
    raise PublishError(f"rank {rank} failed: {values.get('reason')}")


def _poll(ready: Callable[[], bool], timeout_s: float) -> bool:
    deadline, pause_s = time.monotonic() + timeout_s, POLL_S
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
        pause_s = min(LONGEST_POLL_S, pause_s * 1.5)
    return True


def commit(target: Target, folder: Path, notes: Sequence[PartNote], metadata: Metadata) -> Path:
    """Makes a checkpoint of the parts in a temporary folder: manifest, rename, marker.

    Args:
        target: Where.
        folder: The temporary folder.
        notes: Of all ranks; their files are in the folder.
        metadata: DCP's.

    Returns:
        The checkpoint's folder.

    Raises:
        OSError: The shared folder fails.
        PublishError: The parts are not of one save.
    """
    first = notes[0]
    for note in notes:
        if (note.save_id, note.step, note.tensors) != (first.save_id, first.step, first.tensors):
            raise PublishError(f"the part of rank {note.rank} is of another save or another model")
    write_metadata(folder, metadata, notes)
    for rank in range(first.world_size):
        (folder / layout.part_file(rank)).unlink(missing_ok=True)
    manifest = Manifest(
        step=first.step,
        save_id=first.save_id,
        world_size=first.world_size,
        tensors=first.tensors,
        optimizers=first.optimizers,
        fingerprint=fingerprint(first.tensors),
        torch=torch.__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        files={
            **{name: entry for note in notes for name, entry in note.files.items()},
            METADATA: entry_of(folder / METADATA),
        },
    )
    content = manifest.encode()
    final = target.shared / layout.step_name(first.step)
    # Open across the rename: should another writer move the folder away, the marker still goes with it.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        files.write_file_in(descriptor, layout.MANIFEST, content)
        _replace(folder, final, first.save_id)
        files.write_file_in(descriptor, layout.MARKER, digest(content).encode() + b"\n")
    finally:
        os.close(descriptor)
    prune(target)
    return final


def _replace(folder: Path, final: Path, save_id: str) -> None:
    """Renames to the final name; what was there (a damaged or older save of the step) is retired first."""
    attempts = 10
    for attempt in range(attempts):
        step = layout.parse_step(final.name)
        retired = final.with_name(layout.retired_name(step or 0, f"{save_id}{attempt}"))
        with contextlib.suppress(FileNotFoundError):
            files.rename(final, retired)
        try:
            files.rename(folder, final)
        except OSError:
            # Another writer of the same step came in between.
            if attempt == attempts - 1 or not final.exists():
                raise
        else:
            files.remove_folder(retired)
            return


def prune(target: Target) -> None:
    """Removes checkpoints beyond `keep`, and what dead runs left. What fails is tried again."""
    with contextlib.suppress(OSError):
        for entry in layout.superfluous(layout.scan(target.shared), target.keep):
            retired = target.shared / layout.retired_name(entry.step, f"{time.time_ns():x}")
            # Renamed first, so that a half-removed one is never taken for a checkpoint.
            files.rename(entry.path, retired)
            files.remove_folder(retired)
        for item in target.shared.iterdir():
            if layout.is_leftover(item.name) and _age_s(item) > STALE_S:
                files.remove_folder(item)


def _age_s(folder: Path) -> float:
    """Seconds since something in a folder last changed; 0 when it cannot be told."""
    try:
        newest = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
    except OSError:
        return 0.0
    return time.time() - newest
