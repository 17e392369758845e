"""The values that the report is made of: what was read (`Raw`), and what is written (`ReportData`).

Data flows one way: `load` reads files into `Raw`, `json_report` turns it into `ReportData`, and what draws or
prints sees `ReportData` alone. So each drawing can be made from a `report.json` that was kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

PLACES = ("one", "all")
"""The two runs of a job: on one node and on all of them. Names of folders and of keys."""


class NodeRow(TypedDict):
    """A machine of the rack."""

    name: str
    role: str
    model: str | None
    chip: str | None
    fabric_address: str | None


class CableRow(TypedDict):
    """A cable and what was measured on it; None where there is no number, then `error` says why."""

    a: str
    a_port: int
    b: str
    b_port: int
    gbit_s_ab: float | None
    gbit_s_ba: float | None
    rtt_ms: float | None
    mtu: int | None
    error: str | None


class SiteRow(TypedDict):
    """Two runs of `site.yml`; all None where it was not run."""

    hosts: int | None
    failed: int | None
    seconds: float | None
    second_run_changed: int | None


class SizeRow(TypedDict):
    """The all-reduce of one size."""

    bytes: int
    seconds: float
    algbw_gb_s: float
    busbw_gb_s: float
    iterations: int


class RunRow(TypedDict):
    """One training run; `error` is set and the numbers are None where it failed."""

    error: str | None
    model: str | None
    dataset: str | None
    backend: str | None
    device: str | None
    nodes: list[str]
    world_size: int | None
    threads: int | None
    seconds: float | None
    steps: int | None
    global_batch: int | None
    samples: int | None
    samples_s: float | None
    tokens_s: float | None
    accuracy: float | None
    loss_first: float | None
    loss_last: float | None
    losses: list[tuple[int, float]]
    parameters: int | None
    parameters_sha256: dict[str, str]
    replicas_identical: bool | None
    environment: dict[str, Any]


class JobRow(TypedDict):
    """A job on one node and on all; `loss_first` and `loss_last` are those of all nodes."""

    accuracy_one: float | None
    accuracy_all: float | None
    loss_first: float | None
    loss_last: float | None
    loss_last_one: float | None
    samples_s_one: float | None
    samples_s_all: float | None
    tokens_s_one: float | None
    tokens_s_all: float | None
    efficiency: float | None
    efficiency_ideal: float | None
    replicas_identical: bool | None
    runs: dict[str, RunRow]


class FabricRow(TypedDict):
    """The rack: `nodes` is empty and `cabling` None for this machine only."""

    cabling: str | None
    nodes: list[NodeRow]
    cables: list[CableRow]


class SetupRow(TypedDict):
    """How the all-reduce was run."""

    backend: str | None
    world_size: int
    error: str | None


class ReportData(TypedDict):
    """`report.json`. Only ever extended: others read it."""

    version: int
    written_at: str
    espalier: str
    this_machine_only: bool
    shared_cores: int | None
    site: SiteRow
    fabric: FabricRow
    allreduce: list[SizeRow]
    allreduce_setup: SetupRow
    train: dict[str, JobRow]
    gaps: list[str]
    definitions: dict[str, str]
    environment: dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """The raw measurements after checking.

    Attributes:
        nodes: None where there is no rack.
        cables: Every declared cable, measured or not.
        site: None where `site.yml` was not run.
        allreduce: By size; empty if it failed.
        allreduce_setup: Backend, ranks and, if it failed, why.
        runs: By job, then by place (`one`, `all`).
        environment: As it was written, empty if it was not.
    """

    nodes: list[NodeRow] | None
    cables: list[CableRow]
    site: SiteRow | None
    allreduce: list[SizeRow]
    allreduce_setup: SetupRow
    runs: Mapping[str, Mapping[str, RunRow]]
    environment: dict[str, Any] = field(default_factory=dict)
