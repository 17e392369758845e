"""Names of checkpoints on a disk, and which of them to use. Nothing here writes.

```
<folder>/
  step-00001200/            a checkpoint: usable when COMMITTED is there and names this manifest
    model/                  torch.distributed.checkpoint (DCP): model and optimisers
    rank-00000.pt           what belongs to one rank: random numbers, data position
    manifest.json           size and SHA-256 of every file above
    COMMITTED               written last: the SHA-256 of manifest.json
  .tmp-step-00001500-<id>/  being written, or left by a run that died
  .old-step-00001200-<id>/  replaced or too old, being removed
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.checkpoint.manifest import Manifest, ManifestError, decode, digest

MANIFEST = "manifest.json"
MARKER = "COMMITTED"
MODEL = "model"
TEMPORARY = ".tmp-"
RETIRED = ".old-"
# The widest step that is read: more digits are no step of ours, and int() refuses thousands of them.
_STEP = re.compile(r"step-([0-9]{8,18})")
_WIDTH = 8


def step_name(step: int) -> str:
    """The folder name of a step, such as `step-00001200`.

    Raises:
        ValueError: The step is negative or has more than 18 digits.
    """
    name = f"step-{step:0{_WIDTH}d}"
    if step < 0 or not _STEP.fullmatch(name):
        raise ValueError(f"step {step} has no folder name: it must be from 0 to 999999999999999999")
    return name


def parse_step(name: str) -> int | None:
    """The step that a folder name stands for, or None when it is not one of ours."""
    match = _STEP.fullmatch(name)
    if not match:
        return None
    step = int(match[1])
    # Two names of one step (step-000000012) would make "the newest" ambiguous.
    return step if step_name(step) == name else None


def temporary_name(step: int, save_id: str) -> str:
    """The folder name of a save that is not committed yet."""
    return f"{TEMPORARY}{step_name(step)}-{save_id}"


def retired_name(step: int, save_id: str) -> str:
    """The folder name of a checkpoint that is being removed."""
    return f"{RETIRED}{step_name(step)}-{save_id}"


def is_leftover(name: str) -> bool:
    """Whether a folder name is of a save that is not, or no longer, a checkpoint."""
    prefix = next((prefix for prefix in (TEMPORARY, RETIRED) if name.startswith(prefix)), None)
    return prefix is not None and parse_step(name.removeprefix(prefix).rpartition("-")[0]) is not None


def rank_file(rank: int) -> str:
    """The file of what belongs to one rank."""
    return f"rank-{rank:05d}.pt"


def part_file(rank: int) -> str:
    """The file by which a rank says that its part is complete."""
    return f"part-{rank:05d}.json"


def failure_file(rank: int) -> str:
    """The file by which a rank says that its part will never be complete."""
    return f"failed-{rank:05d}.json"


def rank_folder(rank: int) -> str:
    """The folder of a rank's own copies on its node's disk."""
    return f"rank-{rank:05d}"


@dataclass(frozen=True)
class Entry:
    """A checkpoint in a folder.

    Attributes:
        step: Its step.
        path: Its folder.
        manifest: Its manifest, None when `problem` is set.
        problem: Why it cannot be used, as far as a look without reading all files can tell.
    """

    step: int
    path: Path
    manifest: Manifest | None = None
    problem: str | None = None


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    """The order in which checkpoints are tried."""
    return sorted(entries, key=lambda entry: entry.step, reverse=True)


def superfluous(entries: Iterable[Entry], keep: int) -> list[Entry]:
    """What to remove so that `keep` usable checkpoints stay.

    A damaged one is removed when it is older than the oldest that stays: until then it may be the only trace
    of what went wrong.

    Args:
        entries: All checkpoints of the folder.
        keep: How many usable ones stay, at least 1.

    Raises:
        ValueError: keep is less than 1.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}, but at least 1 checkpoint must stay")
    every = newest_first(entries)
    usable = [entry for entry in every if entry.problem is None]
    if len(usable) < keep:
        return []
    oldest_kept = usable[keep - 1].step
    return [entry for entry in every if entry.step < oldest_kept]


def scan(folder: Path) -> list[Entry]:
    """All checkpoints of a folder, newest first; other names in it are passed over.

    Raises:
        OSError: The folder cannot be listed; a folder that does not exist counts as empty.
    """
    try:
        names = sorted(item.name for item in folder.iterdir())
    except FileNotFoundError:
        return []
    found = [(parse_step(name), name) for name in names]
    return newest_first(look(folder / name, step) for step, name in found if step is not None)


def look(path: Path, step: int) -> Entry:
    """Judges a checkpoint by its marker, manifest and file sizes."""
    try:
        if path.is_symlink() or not path.is_dir():
            return Entry(step, path, problem="it is not a folder")
        manifest = _read(path)
    except FileNotFoundError as error:
        missing = Path(error.filename).name
        why = "the save was not finished" if missing == MARKER else "it was removed or never written"
        return Entry(step, path, problem=f"{missing} is missing: {why}")
    except (OSError, ManifestError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        return Entry(step, path, problem=f"{MANIFEST} cannot be used: {reason}")
    if manifest.step != step:
        return Entry(step, path, problem=f"its manifest is of step {manifest.step}: it was renamed")
    problems = size_problems(path, manifest, manifest.files)
    if problems:
        return Entry(step, path, problem=problems[0])
    return Entry(step, path, manifest)


def _read(path: Path) -> Manifest:
    """The manifest, if the marker was written for it."""
    marker = (path / MARKER).read_bytes().strip()
    content = (path / MANIFEST).read_bytes()
    if marker != digest(content).encode():
        raise ManifestError(f"{MARKER} was written for another manifest, so one of the two is damaged")
    return decode(content)


def size_problems(path: Path, manifest: Manifest, names: Iterable[str]) -> list[str]:
    """One sentence for each of the named files that is missing, not a file, or of the wrong size."""
    problems = []
    for name in names:
        file, expected = path / name, manifest.files[name].size
        try:
            if file.is_symlink() or not file.is_file():
                problems.append(f"{name} is missing" if not file.exists() else f"{name} is not a plain file")
                continue
            size = file.stat().st_size
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror}")
            continue
        if size != expected:
            problems.append(f"{name} has {size} bytes instead of {expected}")
    return problems


def share_of_files(names: Iterable[str], rank: int, world_size: int) -> Sequence[str]:
    """The files that a rank checks, so that all ranks together read each once."""
    return sorted(names)[rank::world_size]
