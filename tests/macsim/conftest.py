"""Fixtures of the tests of the Mac simulator."""

from __future__ import annotations

import plistlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from macsim_fakes import FakeSystem, Mac


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    return Mac(tmp_path)


@pytest.fixture
def system(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> FakeSystem:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return FakeSystem(mac, monkeypatch)


@pytest.fixture
def write_job(mac: Mac) -> Callable[..., Path]:
    def write(label: str = "dev.espalier.probe", mode: int = 0o644, **keys: Any) -> Path:
        path = mac.paths.launch_daemons / f"{label}.plist"
        content = {"Label": label, "ProgramArguments": ["/bin/sleep", "1000"], **keys}
        path.write_bytes(plistlib.dumps(content))
        path.chmod(mode)
        return path

    return write
