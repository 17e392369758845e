"""Resumes from the newest checkpoint that is whole, the same one on all ranks."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed import ProcessGroup
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.optim import Optimizer

from training.checkpoint import files, layout, rng
from training.checkpoint.agreement import everyone, from_first_rank, rank_and_size
from training.checkpoint.fingerprint import difference, table
from training.checkpoint.local_copy import LocalCopy, copies
from training.checkpoint.manifest import Manifest
from training.checkpoint.part import read_plan
from training.checkpoint.parts import Part, hand_back, missing
from training.checkpoint.publish import (
    PublishError,
    Target,
    copy_part,
    give_up,
    publish,
    temporary_folder,
)
from training.errors import InputError

# Ranks hand in their parts at the same moment here, so the wait is only as long as the slowest copy.
RECOVER_TIMEOUT_S = 600.0
# Pruning is the writer's business: bringing a copy back must not remove anything.
KEEP_ALL = 1_000_000


@dataclass(frozen=True)
class Restored:
    """What was loaded.

    Attributes:
        step: Steps done: training goes on with the next.
        path: The checkpoint.
        exact: Whether the next steps are those of an uninterrupted run, bit for bit: the number of ranks is
            the same.
        passed_over: Newer checkpoints that could not be used, each with the reason, newest first.
    """

    step: int
    path: Path
    exact: bool
    passed_over: tuple[str, ...]


def load_newest(
    shared: Path,
    model: nn.Module,
    optimizers: Sequence[Optimizer],
    parts: Mapping[str, Part] | None = None,
    *,
    local: Path | None = None,
    group: ProcessGroup | None = None,
) -> Restored | None:
    """Loads the newest whole checkpoint into model, optimisers, parts and random number generators.

    A collective: call it on every rank after the model and optimisers are built and before the first step.
    Every file is read and its hash compared, shared out over the ranks. A save that reached the nodes' own
    disks but not the shared folder is brought there first.

    Args:
        shared: The folder of the run's checkpoints.
        model: Bare, DDP or FSDP2; spread over the ranks as it will train.
        optimizers: In the order of the save.
        parts: By name, as at the save.
        local: The folder of copies on the node's own disk.
        group: The ranks, None for one process.

    Returns:
        What was loaded, or None when there is no checkpoint at all: training starts anew.

    Raises:
        InputError: The newest whole checkpoint is of another model or lacks a part, or there are checkpoints
            and none is whole. Nothing was changed.
    """
    rank, world_size = rank_and_size(group)
    entries = _entries(shared, group, rank)
    own = {} if local is None else {copy.note.step: copy for copy in copies(local, rank)}
    on_nodes = _on_all_nodes(own, group, world_size)
    passed_over: list[str] = []
    for step in sorted({entry.step for entry in entries} | set(on_nodes), reverse=True):
        entry = next((entry for entry in entries if entry.step == step), None)
        problem = None if entry is None else _problem(entry, group, rank, world_size)
        if (entry is None or problem) and step in on_nodes:
            failure = _bring_back(shared, own[step], group)
            if failure:
                problem = f"{problem}; {failure}" if problem else failure
            else:
                entry = _agreed_entry(shared, step, group, rank)
                problem = _problem(entry, group, rank, world_size)
        if entry is None or problem or entry.manifest is None:
            passed_over.append(f"{layout.step_name(step)}: {problem}")
            continue
        return _load(entry, entry.manifest, model, optimizers, parts or {}, group, tuple(passed_over))
    if passed_over:
        raise InputError(
            f"{shared}: none of the {len(passed_over)} checkpoints can be used: {'; '.join(passed_over)}. "
            "Restore one from a backup, or give another folder to start anew."
        )
    return None


def _entries(shared: Path, group: ProcessGroup | None, rank: int) -> list[layout.Entry]:
    """What the first rank sees, so that all ranks try the same ones in the same order."""
    found: list[layout.Entry] | str = []
    if rank == 0:
        try:
            if not shared.is_dir():
                raise FileNotFoundError(2, "the folder is gone; is the file system mounted?")
            found = layout.scan(shared)
        except OSError as error:
            found = f"{shared}: the folder of checkpoints cannot be listed: {error.strerror}."
    agreed = from_first_rank(group, found)
    if isinstance(agreed, str):
        raise InputError(agreed)
    return agreed


def _agreed_entry(shared: Path, step: int, group: ProcessGroup | None, rank: int) -> layout.Entry:
    path = shared / layout.step_name(step)
    return from_first_rank(group, layout.look(path, step) if rank == 0 else layout.Entry(step, path))


def _problem(entry: layout.Entry, group: ProcessGroup | None, rank: int, world_size: int) -> str | None:
    """Why a checkpoint cannot be used; every rank reads its share of the files and all get one answer."""
    if entry.manifest is None:
        return entry.problem
    names = layout.share_of_files(entry.manifest.files, rank, world_size)
    found = verify(entry.path, entry.manifest, names)
    every = [problem for problems in everyone(group, found) for problem in problems]
    return "; ".join(every) or None


def verify(path: Path, manifest: Manifest, names: Sequence[str]) -> list[str]:
    """Compares files with the manifest, byte for byte.

    Args:
        path: The checkpoint.
        manifest: Its manifest.
        names: The files to read.

    Returns:
        A sentence for each that differs.
    """
    problems = layout.size_problems(path, manifest, names)
    if problems:
        return problems
    for name in names:
        try:
            damaged = files.sha256_of(path / name) != manifest.files[name].sha256
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror}")
        else:
            if damaged:
                problems.append(f"{name} is damaged: its SHA-256 is not the one in the manifest")
    return problems


def _on_all_nodes(own: Mapping[int, LocalCopy], group: ProcessGroup | None, world_size: int) -> set[int]:
    """The steps of which every rank has its copy on its own disk, all of one save."""
    mine = {step: copy.note.save_id for step, copy in own.items() if copy.note.world_size == world_size}
    every = everyone(group, mine)
    return {step for step, save_id in every[0].items() if all(ranks.get(step) == save_id for ranks in every)}


def _bring_back(shared: Path, copy: LocalCopy, group: ProcessGroup | None) -> str | None:
    """Commits a save from the nodes' own disks; why that failed, if it did, the same on all ranks."""
    # A new id: a folder of the first attempt may still be there, half-filled.
    save_id = from_first_rank(group, secrets.token_hex(8))
    note = copy.note
    target = Target(shared, KEEP_ALL, RECOVER_TIMEOUT_S)
    failure = None
    try:
        metadata = read_plan(copy.path)
        folder = temporary_folder(target, note.step, save_id)
        try:
            copy_part(copy.path, folder, note)
            publish(target, folder, replace(note, save_id=save_id), metadata)
        except (OSError, PublishError) as error:
            give_up(folder, note.rank, str(error))
            raise
    except (OSError, PublishError) as error:
        failure = f"its copy on the nodes' own disks could not be brought back: {error}"
    return next((answer for answer in everyone(group, failure) if answer), None)


def _load(
    entry: layout.Entry,
    manifest: Manifest,
    model: nn.Module,
    optimizers: Sequence[Optimizer],
    parts: Mapping[str, Part],
    group: ProcessGroup | None,
    passed_over: tuple[str, ...],
) -> Restored:
    rank, world_size = rank_and_size(group)
    here = table(get_model_state_dict(model))
    names = [type(optimizer).__name__ for optimizer in optimizers]
    differs = difference(manifest.tensors, here, manifest.optimizers, names)
    if differs:
        raise InputError(
            f"{entry.path} is a checkpoint of another model: {differs}. Give the job the folder of its own "
            "checkpoints, or change the model back."
        )
    exact = manifest.world_size == world_size
    ranks = [rank] if exact else list(range(manifest.world_size))
    states = [_rank_state(entry.path / layout.rank_file(number)) for number in ranks]
    absent = missing(parts, states[0]["parts"])
    if absent:
        raise InputError(
            f"{entry.path} holds no {', '.join(absent)}: it was saved by a job without. Turn that off, or "
            "give another folder to start anew."
        )
    model_state, optimizer_state = get_state_dict(model, list(optimizers))
    state: dict[str, Any] = {"model": dict(model_state), "optimizer": optimizer_state}
    try:
        with warnings.catch_warnings():
            # DCP warns of a single process, which is what a group of None asks for.
            warnings.simplefilter("ignore", UserWarning)
            load(
                state,
                storage_reader=FileSystemReader(entry.path / layout.MODEL),
                process_group=group,
                no_dist=group is None,
            )
    except (CheckpointException, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(
            f"{entry.path} does not fit this job: {reason}. Use the optimiser that it was saved with."
        ) from error
    set_state_dict(
        model,
        list(optimizers),
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    hand_back(parts, [state["parts"] for state in states], 0 if exact else rank)
    # Last, because building and loading may draw random numbers.
    if exact:
        rng.restore(states[0]["rng"])
    else:
        rng.reseed(manifest.step, rank, world_size)
    return Restored(manifest.step, entry.path, exact, passed_over)


def _rank_state(path: Path) -> dict[str, Any]:
    """The state of one rank; weights_only, so that reading it runs no code."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state
