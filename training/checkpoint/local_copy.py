"""A rank's own copy of its part on its node's disk: fast to write, and there when the shared folder is not.

```
<local>/rank-00001/step-00001200/   the rank's files, plan.pickle, part.json, COMMITTED (written last)
```
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from training.checkpoint import files, layout
from training.checkpoint.manifest import ManifestError, digest
from training.checkpoint.part import PartNote, decode_part, write_part, write_plan
from training.checkpoint.snapshot import Snapshot

NOTE = "part.json"


@dataclass(frozen=True)
class LocalCopy:
    """A complete copy.

    Attributes:
        path: Its folder.
        note: What it holds.
    """

    path: Path
    note: PartNote


def write_local(local: Path, snapshot: Snapshot, keep: int) -> LocalCopy:
    """Writes this rank's part to the node's own disk.

    Args:
        local: The folder of all ranks of this node.
        snapshot: What to write.
        keep: Copies of this rank that stay, this one included.

    Raises:
        OSError: The disk is full, and the like; nothing usable and no leftover stays.
    """
    own = local / layout.rank_folder(snapshot.rank)
    files.make_folder(own)
    clear_leftovers(own)
    temporary = own / layout.temporary_name(snapshot.step, snapshot.save_id)
    final = own / layout.step_name(snapshot.step)
    try:
        files.make_folder(temporary)
        note = write_part(temporary, snapshot)
        write_plan(temporary, snapshot.metadata)
        content = note.encode()
        files.write_file(temporary / NOTE, content)
        if final.exists():
            files.remove_folder(final)
        files.rename(temporary, final)
        files.write_file(final / layout.MARKER, digest(content).encode() + b"\n")
    except Exception:
        files.remove_folder(temporary)
        raise
    for copy in copies(local, snapshot.rank)[keep:]:
        files.remove_folder(copy.path)
    return LocalCopy(final, note)


def copies(local: Path, rank: int) -> list[LocalCopy]:
    """The complete copies of a rank, newest first."""
    own = local / layout.rank_folder(rank)
    found: list[LocalCopy] = []
    with contextlib.suppress(OSError):
        steps = [(layout.parse_step(item.name), item) for item in own.iterdir()]
        for _, path in sorted(((step, item) for step, item in steps if step is not None), reverse=True):
            with contextlib.suppress(OSError, ManifestError):
                content = (path / NOTE).read_bytes()
                if (path / layout.MARKER).read_bytes().strip() == digest(content).encode():
                    found.append(LocalCopy(path, decode_part(content)))
    return found


def clear_leftovers(own: Path) -> None:
    """Removes what a killed run left half-written; the folder is one rank's, so nobody else is writing."""
    with contextlib.suppress(OSError):
        for item in own.iterdir():
            if layout.is_leftover(item.name):
                files.remove_folder(item)
