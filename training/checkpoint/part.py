"""One rank's part of a checkpoint: its files, and the note that says that they are complete."""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import FileSystemWriter, _StorageInfo
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.storage import WriteResult

from training.checkpoint import files, layout
from training.checkpoint.manifest import (
    FORMAT,
    FileEntry,
    ManifestError,
    decode_files,
    decode_object,
)
from training.checkpoint.snapshot import Snapshot

# In the model's folder; DCP's own name.
METADATA = f"{layout.MODEL}/.metadata"
# In a rank's own copy: the plan of all ranks, from which METADATA is made when the copies come together.
PLAN = "plan.pickle"


@dataclass(frozen=True)
class PartNote:
    """The content of `part-<rank>.json`.

    Attributes:
        step: Steps done.
        save_id: The same on all ranks.
        rank: Whose part.
        world_size: Ranks.
        tensors: The model's table.
        optimizers: Class names.
        files: This rank's files.
        items: Where in them DCP finds what: name, offset, index, size, file, begin, length.
    """

    step: int
    save_id: str
    rank: int
    world_size: int
    tensors: Mapping[str, str]
    optimizers: tuple[str, ...]
    files: Mapping[str, FileEntry]
    items: Sequence[Sequence[Any]]

    def encode(self) -> bytes:
        """The bytes of the note."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True).encode()

    def write_results(self) -> list[WriteResult]:
        """What DCP's writer returned when this rank wrote."""
        return [
            WriteResult(MetadataIndex(name, offset, index), size, _StorageInfo(file, begin, length))
            for name, offset, index, size, file, begin, length in self.items
        ]


def decode_part(content: bytes) -> PartNote:
    """Reads a note.

    Raises:
        ManifestError: It is not one.
    """
    values = decode_object(content)
    values.pop("format")
    try:
        values["files"] = decode_files(values["files"])
        values["optimizers"] = tuple(values["optimizers"])
        return PartNote(**values)
    except (KeyError, TypeError) as error:
        raise ManifestError(f"the note of a part lacks or has too many keys: {error}") from error


def write_part(folder: Path, snapshot: Snapshot) -> PartNote:
    """Writes a rank's files into a folder, durably, and hashes them.

    Args:
        folder: Exists; several ranks may share it.
        snapshot: What to write.

    Raises:
        OSError: The disk is full, the folder is gone, and the like.
    """
    model = folder / layout.MODEL
    files.make_folder(model)
    # copy-ahead 0: the copies are on the host already, and no device is touched from this thread.
    writer = FileSystemWriter(model, sync_files=False, per_thread_copy_ahead=0)
    results = writer.write_data(snapshot.plan, snapshot.planner).value()
    names = sorted({f"{layout.MODEL}/{result.storage_data.relative_path}" for result in results})
    for name in names:
        files.sync_file(folder / name)
    files.sync_folder(model)
    stream = io.BytesIO()
    torch.save(dict(snapshot.rank_state), stream)
    files.write_file(folder / layout.rank_file(snapshot.rank), stream.getvalue())
    names.append(layout.rank_file(snapshot.rank))
    return PartNote(
        step=snapshot.step,
        save_id=snapshot.save_id,
        rank=snapshot.rank,
        world_size=snapshot.world_size,
        tensors=snapshot.tensors,
        optimizers=snapshot.optimizers,
        files={name: entry_of(folder / name) for name in names},
        items=[
            [
                result.index.fqn,
                None if result.index.offset is None else list(result.index.offset),
                result.index.index,
                result.size_in_bytes,
                result.storage_data.relative_path,
                result.storage_data.offset,
                result.storage_data.length,
            ]
            for result in results
        ],
    )


def entry_of(path: Path) -> FileEntry:
    """Size and hash of a file.

    Raises:
        OSError: It cannot be read.
    """
    return FileEntry(path.stat().st_size, files.sha256_of(path))


def write_metadata(folder: Path, metadata: Metadata, notes: Sequence[PartNote]) -> None:
    """Writes DCP's own table of contents, so that `torch.distributed.checkpoint.load` reads the folder too.

    Args:
        folder: Of the checkpoint.
        metadata: From the snapshot.
        notes: Of all ranks.

    Raises:
        OSError: It cannot be written.
    """
    model = folder / layout.MODEL
    writer = FileSystemWriter(model, sync_files=False)
    # finish() fills in what it is given, and the plan is kept for the next save.
    writer.finish(copy.copy(metadata), [note.write_results() for note in notes])
    files.sync_file(folder / METADATA)
    files.sync_folder(model)


def write_plan(folder: Path, metadata: Metadata) -> None:
    """Keeps the plan of all ranks beside a rank's own copy.

    Raises:
        OSError: It cannot be written.
    """
    files.write_file(folder / PLAN, pickle.dumps(metadata))


def read_plan(folder: Path) -> Metadata:
    """The plan beside a rank's own copy.

    Raises:
        OSError: It cannot be read.
    """
    content = (folder / PLAN).read_bytes()
    metadata: Metadata = pickle.loads(content)  # noqa: S301 - our own file, as trusted as DCP's .metadata
    return metadata
