"""Reads and checks the raw measurements. A file or key that cannot be right is an error, never a blank.

What could not be *measured* is something else: such a file says so in its key `error`, and the report says
it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.errors import InputError
from training.report.fields import Fields, read_json
from training.report.model import PLACES, CableRow, NodeRow, Raw, RunRow, SetupRow, SiteRow, SizeRow

ROLES = ("head", "mac")
# Whoever wrote efficiency or bandwidth as a percentage or in bits is found out by these.
MOST_GBIT_S = 100_000.0


def load(folder: Path) -> Raw:
    """All measurements in a folder (format: docs/architecture.md, "Raw measurements").

    Raises:
        InputError: The folder, a file or a key is missing, broken, or contradicts another.
    """
    if not folder.is_dir():
        raise InputError(f"--input {folder}: is not a folder. Give the folder that holds allreduce.json.")
    nodes = _nodes(folder)
    allreduce, setup = _allreduce(folder)
    return Raw(
        nodes=nodes,
        cables=_cables(folder, nodes),
        site=_site(folder),
        allreduce=allreduce,
        allreduce_setup=setup,
        runs=_runs(folder),
        environment=_environment(folder, rack=nodes is not None),
    )


def _nodes(folder: Path) -> list[NodeRow] | None:
    path = folder / "rack.json"
    if not path.exists():
        return None
    rack = Fields(read_json(path, path.name), path.name)
    nodes: list[NodeRow] = []
    for entry in rack.objects("nodes"):
        name, role = entry.text("name"), entry.text("role")
        if role not in ROLES:
            raise entry.error("role", f"{role!r} is not one of {', '.join(ROLES)}")
        if any(name == node["name"] for node in nodes):
            raise entry.error("name", f"{name!r} is there twice")
        nodes.append(
            {
                "name": name,
                "role": role,
                "model": entry.optional_text("model"),
                "chip": entry.optional_text("chip"),
                "fabric_address": entry.optional_text("fabric_address"),
            }
        )
    if not nodes:
        raise rack.error("nodes", "is empty; a rack has at least one machine")
    return nodes


def _cables(folder: Path, nodes: list[NodeRow] | None) -> list[CableRow]:
    path = folder / "cables.json"
    if nodes is None:
        if path.exists() and read_json(path, path.name) != []:
            raise InputError("cables.json: has cables, but rack.json, which names their ends, is missing.")
        return []
    names = [node["name"] for node in nodes]
    content = Fields({"cables": read_json(path, path.name)}, path.name)
    measured = [_cable(entry, names) for entry in content.objects("cables")]
    for position, cable in enumerate(measured):
        if any(_same(cable, other) for other in measured[:position]):
            raise content.error(f"cables[{position}]", f"{_title(cable)} is there twice")
    declared = [
        _ends(entry, names)
        for entry in Fields(read_json(folder / "rack.json", "rack.json"), "rack.json").objects("cables")
    ]
    for cable in measured:
        if not any(_same(cable, other) for other in declared):
            raise content.error("cables", f"{_title(cable)} is not among the cables of rack.json")
    missing = [cable for cable in declared if not any(_same(cable, other) for other in measured)]
    return measured + missing


def _ends(entry: Fields, names: Sequence[str]) -> CableRow:
    a, b = entry.text("a"), entry.text("b")
    for key, name in (("a", a), ("b", b)):
        if name not in names:
            raise entry.error(key, f"{name!r} is not a node of rack.json ({', '.join(names)})")
    if a == b:
        raise entry.error("b", f"{b!r} is also the other end")
    return {
        "a": a,
        "a_port": entry.whole("a_port", least=1),
        "b": b,
        "b_port": entry.whole("b_port", least=1),
        "gbit_s_ab": None,
        "gbit_s_ba": None,
        "rtt_ms": None,
        "mtu": None,
        "error": "was not measured",
    }


def _cable(entry: Fields, names: Sequence[str]) -> CableRow:
    cable = _ends(entry, names)
    entry.get("error")
    cable["error"] = entry.optional_text("error")
    cable["gbit_s_ab"] = entry.optional_number("gbit_s_ab", least=0, most=MOST_GBIT_S)
    cable["gbit_s_ba"] = entry.optional_number("gbit_s_ba", least=0, most=MOST_GBIT_S)
    cable["rtt_ms"] = entry.optional_number("rtt_ms", least=0)
    cable["mtu"] = entry.optional_whole("mtu", least=1)
    if cable["error"] is None:
        for key in ("gbit_s_ab", "gbit_s_ba", "rtt_ms"):
            if not entry.has(key):
                raise entry.error(key, "is null, but error does not say why")
    return cable


def _same(one: CableRow, other: CableRow) -> bool:
    """Whether it is one cable, whichever end is named first."""

    def ends(cable: CableRow) -> set[tuple[str, int]]:
        return {(cable["a"], cable["a_port"]), (cable["b"], cable["b_port"])}

    return ends(one) == ends(other)


def _title(cable: CableRow) -> str:
    return f"{cable['a']} port {cable['a_port']} to {cable['b']} port {cable['b_port']}"


def _site(folder: Path) -> SiteRow | None:
    path = folder / "site.json"
    if not path.exists():
        return None
    site = Fields(read_json(path, path.name), path.name)
    row: SiteRow = {
        "hosts": site.whole("hosts", least=1),
        "failed": site.whole("failed", least=0),
        "seconds": site.number("seconds", least=0),
        "second_run_changed": site.optional_whole("second_run_changed", least=0),
    }
    return row


def _allreduce(folder: Path) -> tuple[list[SizeRow], SetupRow]:
    path = folder / "allreduce.json"
    content = Fields(read_json(path, path.name), path.name)
    failure = content.optional_text("error") if content.has("error") else None
    setup: SetupRow = {
        "backend": content.optional_text("backend") if failure else content.text("backend"),
        "world_size": content.whole("world_size", least=1),
        "error": failure,
    }
    rows: list[SizeRow] = [
        {
            "bytes": entry.whole("bytes", least=1),
            "seconds": entry.number("seconds", least=0),
            "algbw_gb_s": entry.number("algbw_gb_s", least=0),
            "busbw_gb_s": entry.number("busbw_gb_s", least=0),
            "iterations": entry.whole("iterations", least=1),
        }
        for entry in content.objects("results")
    ]
    if not rows and not failure:
        raise content.error("results", "is empty, but error does not say why")
    return sorted(rows, key=lambda row: row["bytes"]), setup


def _runs(folder: Path) -> dict[str, dict[str, RunRow]]:
    train = folder / "train"
    jobs = sorted(path.name for path in train.iterdir() if path.is_dir()) if train.is_dir() else []
    if not jobs:
        raise InputError(f"train/: no training run in {folder}. Expected train/digits/one/result.json and more.")
    return {
        job: {place: _run(train / job / place / "result.json", f"train/{job}/{place}/result.json") for place in PLACES}
        for job in jobs
    }


def _run(path: Path, shown: str) -> RunRow:
    entry = Fields(read_json(path, shown), shown)
    entry.text("job")
    if entry.has("error"):
        return _failed_run(entry.text("error"))
    nodes = entry.texts("nodes")
    world_size = entry.whole("world_size", least=1)
    if len(nodes) != world_size:
        raise entry.error("nodes", f"has {len(nodes)} names, but world_size is {world_size}")
    hashes = _hashes(entry, nodes)
    identical = entry.flag("replicas_identical")
    if identical != (len(set(hashes.values())) == 1):
        raise entry.error("replicas_identical", f"is {str(identical).lower()}, but parameters_sha256 says otherwise")
    environment = Fields(entry.object("environment"), shown, "environment")
    return {
        "error": None,
        "model": entry.text("model"),
        "dataset": entry.text("dataset"),
        "backend": entry.text("backend"),
        "device": entry.text("device"),
        "nodes": nodes,
        "world_size": world_size,
        "threads": environment.whole("threads", least=1) if environment.has("threads") else None,
        "seconds": entry.number("seconds", least=0),
        "steps": entry.whole("steps", least=1),
        "global_batch": entry.whole("global_batch", least=1),
        "samples": entry.whole("samples", least=1),
        "samples_s": entry.number("samples_s", least=0),
        "tokens_s": entry.optional_number("tokens_s", least=0),
        "accuracy": entry.optional_number("accuracy", least=0, most=1),
        "loss_first": entry.number("loss_first"),
        "loss_last": entry.number("loss_last"),
        "losses": _losses(entry),
        "parameters": entry.whole("parameters", least=1),
        "parameters_sha256": hashes,
        "replicas_identical": identical,
        "environment": entry.object("environment"),
    }


def _failed_run(reason: str) -> RunRow:
    return {
        "error": reason,
        "model": None,
        "dataset": None,
        "backend": None,
        "device": None,
        "nodes": [],
        "world_size": None,
        "threads": None,
        "seconds": None,
        "steps": None,
        "global_batch": None,
        "samples": None,
        "samples_s": None,
        "tokens_s": None,
        "accuracy": None,
        "loss_first": None,
        "loss_last": None,
        "losses": [],
        "parameters": None,
        "parameters_sha256": {},
        "replicas_identical": None,
        "environment": {},
    }


def _hashes(entry: Fields, nodes: Sequence[str]) -> dict[str, str]:
    hashes = entry.object("parameters_sha256")
    if set(hashes) != set(nodes):
        raise entry.error("parameters_sha256", f"must have one hash for each of {', '.join(nodes)}")
    inner = Fields(hashes, "", "")
    return {node: inner.text(node) if isinstance(hashes[node], str) else _refuse(entry, node) for node in nodes}


def _refuse(entry: Fields, node: str) -> str:
    raise entry.error(f"parameters_sha256.{node}", "must be text")


def _losses(entry: Fields) -> list[tuple[int, float]]:
    losses: list[tuple[int, float]] = []
    for index, pair in enumerate(entry.items("losses")):
        fine = (
            isinstance(pair, list)
            and len(pair) == 2
            and isinstance(pair[0], int)
            and isinstance(pair[1], int | float)
            and not any(isinstance(value, bool) for value in pair)
        )
        if not fine:
            raise entry.error(f"losses[{index}]", "must be [step, loss]")
        if losses and pair[0] <= losses[-1][0]:
            raise entry.error(f"losses[{index}]", f"step {pair[0]} does not come after step {losses[-1][0]}")
        losses.append((pair[0], float(pair[1])))
    if not losses:
        raise entry.error("losses", "is empty")
    return losses


def _environment(folder: Path, *, rack: bool) -> dict[str, Any]:
    path = folder / "environment.json"
    if not rack and not path.exists():
        return {}
    content = read_json(path, path.name)
    environment = Fields(content, path.name)
    if not content:
        raise InputError("environment.json: is an empty object; it says which versions were measured.")
    if environment.has("shared_cores"):
        environment.whole("shared_cores", least=1)
    if environment.has("commands"):
        environment.texts("commands")
    return dict(content)
