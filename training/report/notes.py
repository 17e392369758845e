"""What a reader must know to judge the numbers, as sentences. Pure."""

from __future__ import annotations

from training.report.model import JobRow, ReportData
from training.report.units import NONE, percent, plural

_TOLERANCE = 1.15
"""Smaller caches and batches a rank can make several ranks somewhat faster than the ideal."""


def who(report: ReportData) -> str:
    """What was measured: the machines and the cabling, or this machine only."""
    fabric = report["fabric"]
    if report["this_machine_only"]:
        return f"this machine only: {plural(ranks(report), 'rank')} over the loopback, no rack"
    macs = sum(1 for node in fabric["nodes"] if node["role"] == "mac")
    heads = len(fabric["nodes"]) - macs
    machines = plural(macs, "Mac") + (f" and {plural(heads, 'Linux head')}" if heads else "")
    cables = plural(len(fabric["cables"]), "cable")
    return f"{machines}, {cables}" + (f" ({fabric['cabling']})" if fabric["cabling"] else "")


def ranks(report: ReportData) -> int:
    """Ranks of the runs on all nodes."""
    found = [job["runs"]["all"]["world_size"] for job in report["train"].values() if "all" in job["runs"]]
    return max((count for count in found if count), default=report["allreduce_setup"]["world_size"])


def sharing(report: ReportData) -> str | None:
    """Why the throughput says nothing about a real rack, where all ranks share one machine's cores."""
    cores = report["shared_cores"]
    if cores is None:
        return None
    count = ranks(report)
    ideal = next((job["efficiency_ideal"] for job in report["train"].values() if job["efficiency_ideal"]), None)
    limit = ""
    if ideal is not None and ideal < 1:
        limit = f" One rank alone can use them all, so efficiency cannot exceed {percent(ideal)}."
    return (
        f"All {plural(count, 'rank')} share the {plural(cores, 'core')} of one machine.{limit}"
        " Accuracy and identical replicas mean the same on a real rack; speed does not."
    )


def implausible(report: ReportData) -> list[str]:
    """Jobs whose efficiency is more than possible: the machine was busy during the run on one node."""
    return [
        f"{name}: efficiency {percent(job['efficiency'])} is more than the {percent(most)} that is possible. "
        "Something else used the machine during the run on one node; measure again."
        for name, job in report["train"].items()
        if job["efficiency"] is not None and job["efficiency"] > _TOLERANCE * (most := job["efficiency_ideal"] or 1.0)
    ]


def of_ideal(job: JobRow) -> str:
    """Efficiency as a share of what was possible."""
    if job["efficiency"] is None or not job["efficiency_ideal"]:
        return NONE
    return percent(job["efficiency"] / job["efficiency_ideal"])


def identical(job: JobRow) -> str:
    """Whether the replicas are the same, in a word or two."""
    return {True: "identical", False: "DIFFERENT", None: "not compared"}[job["replicas_identical"]]
