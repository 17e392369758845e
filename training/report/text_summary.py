"""The ten lines that `make demo` ends with."""

from __future__ import annotations

from training.report import notes
from training.report.model import JobRow, ReportData
from training.report.units import NONE, duration, percent, plural, significant, size, spread


def summary_lines(report: ReportData) -> list[str]:
    """The report in ten lines for a terminal."""
    train = report["train"]
    digits, gpt = train["digits"], train["gpt"]
    rows = [
        ("Espalier", notes.who(report)),
        ("site.yml", _site(report)),
        ("cables", _cables(report)),
        ("all-reduce", _allreduce(report)),
        ("digits", _accuracy(report, digits)),
        ("", _speed(digits, "samples/s", digits["samples_s_one"], digits["samples_s_all"])),
        ("gpt", _loss(report, gpt)),
        ("", _speed(gpt, "tokens/s", gpt["tokens_s_one"], gpt["tokens_s_all"])),
        ("replicas", f"digits {notes.identical(digits)}, gpt {notes.identical(gpt)} (bit for bit)"),
        _last(report),
    ]
    return [_plain(f"{name:<11} {text}").rstrip() for name, text in rows]


def _plain(text: str) -> str:
    """One line without control characters, whatever a name or an error holds."""
    return "".join(character if character.isprintable() else " " for character in text)


def _site(report: ReportData) -> str:
    site = report["site"]
    if site["hosts"] is None or site["failed"] is None:
        return "not run"
    again = site["second_run_changed"]
    second = (
        "not run again"
        if again is None
        else "run again: nothing changed"
        if again == 0
        else f"run again: {plural(again, 'task')} CHANGED something"
    )
    failed = f"{site['failed']} failed" if site["failed"] == 0 else f"{site['failed']} FAILED"
    return f"{plural(site['hosts'], 'host')}, {failed}, {duration(site['seconds'])}; {second}"


def _cables(report: ReportData) -> str:
    cables = report["fabric"]["cables"]
    if not cables:
        return "none"
    good = [cable for cable in cables if not cable["error"]]
    rates = [rate for cable in good for rate in (cable["gbit_s_ab"], cable["gbit_s_ba"]) if rate is not None]
    trips = [cable["rtt_ms"] for cable in good if cable["rtt_ms"] is not None]
    failed = len(cables) - len(good)
    numbers = f"{spread(rates, 'Gbit/s')} each way, round trip {spread(trips, 'ms', 2)}"
    if not good:
        return f"all {plural(failed, 'cable')} FAILED"
    return f"{len(good)} of {len(cables)} measured: {numbers}" + (f"; {failed} FAILED" if failed else "")


def _allreduce(report: ReportData) -> str:
    rows = report["allreduce"]
    if not rows:
        return "FAILED"
    best = max(rows, key=lambda row: row["busbw_gb_s"])
    return (
        f"{duration(rows[0]['seconds'])} for {size(rows[0]['bytes'])}; "
        f"bus bandwidth up to {significant(best['busbw_gb_s'])} GB/s ({size(best['bytes'])})"
    )


def _accuracy(report: ReportData, job: JobRow) -> str:
    if job["accuracy_one"] is None and job["accuracy_all"] is None:
        return "no accuracy was measured"
    return (
        f"test accuracy {percent(job['accuracy_one'], 2)} on one, "
        f"{percent(job['accuracy_all'], 2)} on all {notes.ranks(report)}"
    )


def _loss(report: ReportData, job: JobRow) -> str:
    if job["loss_last"] is None:
        return "no loss was measured"
    return (
        f"loss {significant(job['loss_first'])} to {significant(job['loss_last'])} "
        f"on all {notes.ranks(report)}, to {significant(job['loss_last_one'])} on one"
    )


def _speed(job: JobRow, unit: str, one: float | None, every: float | None) -> str:
    if one is None and every is None:
        return NONE
    ideal = "" if job["efficiency_ideal"] is None else f" of at most {percent(job['efficiency_ideal'])}"
    return (
        f"{significant(one)} {unit} on one, {significant(every)} on all; efficiency {percent(job['efficiency'])}{ideal}"
    )


def _last(report: ReportData) -> tuple[str, str]:
    gaps = report["gaps"]
    if gaps:
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        return "MISSING", gaps[0] + more
    doubts = notes.implausible(report)
    if doubts:
        return "DOUBTFUL", doubts[0]
    cores = report["shared_cores"]
    if cores is not None:
        return "note", f"all ranks share {plural(cores, 'core')} of one machine: speeds are not those of Macs"
    return "missing", "nothing"
