"""`report.json`: derives it from the raw measurements, and reads one back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from training import __version__
from training.report.cabling import shape
from training.report.fields import Fields, read_json
from training.report.model import PLACES, JobRow, Raw, ReportData, RunRow

VERSION = 1
JOBS = ("digits", "gpt")
"""Always in the report, with nulls where they were not trained: others read these keys."""
_OF_ONE_RUN = ("command", "data_sha256", "test_loss")
"""Keys of a run's environment that say nothing of the machine."""

DEFINITIONS = {
    "gbit_s_ab": "TCP throughput from a to b as the receiver counts it, in 10^9 bits a second",
    "gbit_s_ba": "the same from b to a",
    "rtt_ms": "mean round trip of ping over the cable's own addresses, in milliseconds",
    "seconds": "for the all-reduce: median time of one, of the slowest rank",
    "algbw_gb_s": "bytes of the tensor / seconds, in 10^9 bytes a second",
    "busbw_gb_s": "algbw_gb_s * 2 (n - 1) / n for n ranks: what each link has to carry in the best algorithm",
    "accuracy": "share of the test set that is classified correctly; none of it was trained on",
    "loss": "mean cross-entropy in nats over all ranks; tokens of gpt are bytes",
    "samples_s": "training samples a second over all ranks, without evaluation",
    "tokens_s": "training tokens a second over all ranks, without evaluation",
    "efficiency": "throughput of all nodes / (nodes * throughput of one node), same global batch",
    "efficiency_ideal": "the most that efficiency can be where all ranks share the cores of one machine: "
    "min(cores, ranks * threads) / (ranks * min(cores, threads))",
    "replicas_identical": "whether the SHA-256 over all parameters is the same on every node at the end",
    "second_run_changed": "tasks that changed something when site.yml ran again at once; 0 is right",
}


def build(raw: Raw, *, written_at: str, machine_cores: int) -> ReportData:
    """The report of these measurements.

    Args:
        raw: The measurements.
        written_at: Now, as ISO 8601.
        machine_cores: Cores of this machine, which all ranks share where there is no rack.
    """
    shared = _shared_cores(raw, machine_cores)
    jobs: dict[str, JobRow] = {job: _job(raw.runs[job], shared) for job in raw.runs}
    for job in JOBS:
        jobs.setdefault(job, _job({}, shared))
    return {
        "version": VERSION,
        "written_at": written_at,
        "espalier": __version__,
        "this_machine_only": raw.nodes is None,
        "shared_cores": shared,
        "site": raw.site or {"hosts": None, "failed": None, "seconds": None, "second_run_changed": None},
        "fabric": {"cabling": shape(raw.cables), "nodes": raw.nodes or [], "cables": raw.cables},
        "allreduce": raw.allreduce,
        "allreduce_setup": raw.allreduce_setup,
        "train": jobs,
        "gaps": _gaps(raw),
        "definitions": DEFINITIONS,
        "environment": raw.environment or _environment_of_runs(raw),
    }


def read_report(path: Path) -> ReportData:
    """A `report.json` that was written earlier.

    Raises:
        InputError: It is missing, broken, or of another version.
    """
    content = read_json(path, path.name)
    report = Fields(content, path.name)
    if report.whole("version") != VERSION:
        raise report.error("version", f"is {report.get('version')}; this espalier reads {VERSION}")
    for key in ReportData.__annotations__:
        report.get(key)
    return cast(ReportData, content)


def ideal_efficiency(cores: int, ranks: int, threads: int) -> float:
    """The most that efficiency can be when `ranks` processes of `threads` threads share `cores`."""
    return min(cores, ranks * threads) / (ranks * min(cores, threads))


def _shared_cores(raw: Raw, machine_cores: int) -> int | None:
    if raw.nodes is None:
        return machine_cores
    shared = raw.environment.get("shared_cores")
    return shared if isinstance(shared, int) else None


def _job(runs: Mapping[str, RunRow], shared_cores: int | None) -> JobRow:
    one, every = runs.get("one"), runs.get("all")
    return {
        "accuracy_one": one and one["accuracy"],
        "accuracy_all": every and every["accuracy"],
        "loss_first": every and every["loss_first"],
        "loss_last": every and every["loss_last"],
        "loss_last_one": one and one["loss_last"],
        "samples_s_one": one and one["samples_s"],
        "samples_s_all": every and every["samples_s"],
        "tokens_s_one": one and one["tokens_s"],
        "tokens_s_all": every and every["tokens_s"],
        "efficiency": _efficiency(one, every),
        "efficiency_ideal": _ideal(one, every, shared_cores),
        "replicas_identical": every and every["replicas_identical"],
        "runs": dict(runs),
    }


def _efficiency(one: RunRow | None, every: RunRow | None) -> float | None:
    if not one or not every or not one["samples_s"] or every["samples_s"] is None or not every["world_size"]:
        return None
    return every["samples_s"] / (every["world_size"] * one["samples_s"])


def _ideal(one: RunRow | None, every: RunRow | None, cores: int | None) -> float | None:
    if not one or not every or not every["world_size"] or cores is None or one["threads"] is None:
        return None
    return ideal_efficiency(cores, every["world_size"], one["threads"])


def _gaps(raw: Raw) -> list[str]:
    """What has no number, as sentences."""
    gaps = [
        f"cable {cable['a']}:{cable['a_port']} to {cable['b']}:{cable['b_port']}: {cable['error']}"
        for cable in raw.cables
        if cable["error"]
    ]
    if raw.allreduce_setup["error"]:
        gaps.append(f"all-reduce: {raw.allreduce_setup['error']}")
    for job, runs in raw.runs.items():
        gaps += [f"{job} on {place}: {runs[place]['error']}" for place in PLACES if runs[place]["error"]]
    gaps += [f"{job}: was not trained" for job in JOBS if job not in raw.runs]
    return gaps


def _environment_of_runs(raw: Raw) -> dict[str, Any]:
    """Without an environment.json: the versions that the first run noted, and the commands of all."""
    noted = [run["environment"] for runs in raw.runs.values() for run in runs.values() if run["environment"]]
    versions = {key: value for key, value in (noted[0] if noted else {}).items() if key not in _OF_ONE_RUN}
    # Each command once, in the order in which they ran.
    commands = list(dict.fromkeys(str(one["command"]) for one in noted if one.get("command")))
    return {"espalier": __version__, **versions, "commands": commands}
