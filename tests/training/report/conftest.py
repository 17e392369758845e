"""A folder of raw measurements that a test may change, and what the report makes of it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.report.json_report import build
from training.report.load import load
from training.report.model import ReportData

_SPEC = importlib.util.spec_from_file_location("make_sample", Path(__file__).parent / "make_sample.py")
assert _SPEC and _SPEC.loader
_MAKE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MAKE)

Files = dict[str, Any]


class Folder:
    """Raw measurements on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: Files = _MAKE.sample()

    def write(self) -> Path:
        _MAKE.write(self.path, self.files)
        return self.path

    def text(self, name: str, content: str) -> Path:
        """Replaces one file by text that need not be JSON."""
        self.write()
        (self.path / name).write_text(content, encoding="utf-8")
        return self.path

    def without_rack(self) -> Folder:
        for name in ("rack.json", "cables.json", "site.json", "environment.json"):
            del self.files[name]
        return self

    def report(self) -> ReportData:
        # Through JSON, as a reader of report.json has it.
        report = build(load(self.write()), written_at="2026-01-02 03:04 UTC", machine_cores=2)
        value: ReportData = json.loads(json.dumps(report, allow_nan=False))
        return value


@pytest.fixture
def raw(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "raw")


@pytest.fixture
def espalier(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command in this process: exit status, standard output, standard error."""
    from training.cli import main

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
