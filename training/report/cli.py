"""`espalier report`: reads raw measurements, writes the report."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

from training.errors import EXIT_DONE, InputError
from training.report.files import write_text
from training.report.html_report import html_report
from training.report.json_report import build, read_report
from training.report.load import load
from training.report.model import ReportData
from training.report.rack_svg import rack_svg
from training.report.text_summary import summary_lines


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser of `espalier`."""
    parser = subparsers.add_parser(
        "report",
        help="make report.json and report.html from raw measurements",
        description="Makes report.json and report.html from a folder of raw measurements; or draws and "
        "prints from a report.json that is there already.",
    )
    parser.add_argument("--input", metavar="DIR|FILE", type=Path, help="folder of raw measurements, or a report.json")
    parser.add_argument("--output", metavar="DIR", type=Path, help="where report.json and report.html go")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="write the drawing of the rack alone")
    parser.add_argument(
        "--summary",
        metavar="FILE",
        nargs="?",
        type=Path,
        const=Path("-"),
        help="print the report in ten lines; of this report.json, or of --input",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Does what the options ask for.

    Raises:
        InputError: An option is missing, or what it names cannot be used.
    """
    summary: Path | None = arguments.summary
    source: Path | None = arguments.input
    if source is None and summary is not None and summary != Path("-"):
        source = summary
    if source is None:
        raise InputError("espalier report: --input is missing: a folder of raw measurements, or a report.json.")
    if arguments.output is None and arguments.svg is None and summary is None:
        raise InputError("espalier report: nothing to do. Add --output DIR, --svg FILE or --summary.")
    report = _report(source)
    # Everything is drawn before the first file is written: a fault leaves the old report whole.
    page = html_report(report)
    drawing = rack_svg(report)
    if arguments.output is not None:
        write_text(arguments.output / "report.json", json.dumps(report, indent=2, allow_nan=False) + "\n")
        written = write_text(arguments.output / "report.html", page)
        print(written, file=sys.stderr)
    if arguments.svg is not None:
        print(write_text(arguments.svg, drawing + "\n"), file=sys.stderr)
    if summary is not None:
        print("\n".join(summary_lines(report)))
    return EXIT_DONE


def _report(source: Path) -> ReportData:
    if source.is_file():
        return read_report(source)
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    return build(load(source), written_at=now.strftime("%Y-%m-%d %H:%M UTC"), machine_cores=os.cpu_count() or 1)
