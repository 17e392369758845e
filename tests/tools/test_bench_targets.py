"""Targets and what `make bench-rack` makes of a demo's files."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tools.bench import rack
from tools.bench.targets import Target, conclude, table, write


@pytest.mark.parametrize(
    ("value", "op", "bound", "ok"),
    [
        (0.97, ">=", 0.97, True),
        (0.969, ">=", 0.97, False),
        (300, "<=", 300, True),
        (300.1, "<=", 300, False),
        (0, "==", 0, True),
        (1, "==", 0, False),
        (True, "==", True, True),
        (False, "==", True, False),
        (None, "==", 0, False),
        (None, "<=", 5, False),
        (float("nan"), "<=", 5, False),
        (float("inf"), ">=", 5, False),
    ],
)
def test_when_a_target_is_met(value: Any, op: str, bound: Any, ok: bool) -> None:
    assert Target("x", value, op, bound, "").ok is ok


def test_unknown_operator() -> None:
    with pytest.raises(ValueError, match="x: op '>' is not one of"):
        Target("x", 1, ">", 0, "")


def test_file_has_the_agreed_shape(tmp_path: Path) -> None:
    path = write("demo", [Target("a_s", 1.5, "<=", 2, "3 repeats")], {"cores": 2}, tmp_path)
    assert json.loads(path.read_text()) == {
        "targets": [{"name": "a_s", "value": 1.5, "op": "<=", "bound": 2, "ok": True, "detail": "3 repeats"}],
        "environment": {"cores": 2},
    }
    assert [entry.name for entry in tmp_path.iterdir()] == ["demo.json"]


def test_number_that_is_not_finite_is_null(tmp_path: Path) -> None:
    path = write("demo", [Target("a", float("nan"), "<=", 2, "")], {}, tmp_path)
    assert json.loads(path.read_text())["targets"][0]["value"] is None


def test_benchmark_that_proves_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no target"):
        write("demo", [], {}, tmp_path)
    with pytest.raises(ValueError, match="two targets are named a"):
        write("demo", [Target("a", 1, "<=", 2, ""), Target("a", 1, "<=", 2, "")], {}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_exit_status_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = Target("good", 1, "<=", 2, "once"), Target("bad", None, "==", True, "not run")
    assert conclude("demo", [good], {}, tmp_path) == 0
    assert "all 1 reached" in capsys.readouterr().out
    assert conclude("demo", [good, bad], {}, tmp_path) == 1
    assert "1 of 2 missed" in capsys.readouterr().out
    assert table([good, bad]).splitlines() == [
        "ok      good  1 <= 2    once",
        "MISSED  bad   - == yes  not run",
    ]


REPORT: dict[str, Any] = {
    "site": {"hosts": 4, "failed": 0, "seconds": 90.0, "second_run_changed": 0},
    "train": {
        "digits": {"accuracy_one": 0.98, "accuracy_all": 0.985, "replicas_identical": True},
        "gpt": {"replicas_identical": True},
    },
    "allreduce_setup": {"world_size": 3},
    "environment": {"torch": "2.13.0"},
}


def demo(folder: Path, total: float, *, cached: bool, complete: bool = True, report: Any = REPORT) -> Path:
    folder.mkdir(exist_ok=True)
    steps = [
        {"name": "Install what is missing", "seconds": 3.0, "cached": cached},
        {"name": "Set it up", "seconds": 80.0, "cached": False},
    ]
    content = {"steps": steps, "total_seconds": total, "complete": complete}
    (folder / "steps.json").write_text(json.dumps(content))
    (folder / "report.json").write_text(json.dumps(report))
    return folder


def bench(tmp_path: Path) -> tuple[int, dict[str, Any]]:
    status = rack.main(["--no-run", "--demo", str(tmp_path / "demo"), "--output", str(tmp_path / "bench")])
    path = tmp_path / "bench" / "rack.json"
    return status, json.loads(path.read_text()) if path.exists() else {}


def by_name(content: dict[str, Any]) -> dict[str, Any]:
    return {target["name"]: target for target in content["targets"]}


def test_fresh_run_is_remembered_after_a_repeated_one(tmp_path: Path) -> None:
    demo(tmp_path / "demo", 700.0, cached=False)
    status, content = bench(tmp_path)
    assert status == 1
    assert by_name(content)["demo_fresh_s"]["ok"] is True
    assert by_name(content)["demo_repeat_s"]["value"] is None
    demo(tmp_path / "demo", 200.0, cached=True)
    status, content = bench(tmp_path)
    assert status == 0
    assert by_name(content)["demo_fresh_s"]["value"] == 700.0
    assert by_name(content)["demo_repeat_s"]["value"] == 200.0
    assert "slowest: Set it up, 80 s" in by_name(content)["demo_repeat_s"]["detail"]


def test_fresh_time_is_not_claimed_where_none_was_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(tmp_path / "demo", 200.0, cached=True)
    status, content = bench(tmp_path)
    assert status == 0
    assert "demo_fresh_s" not in by_name(content)
    assert "not judged: demo_fresh_s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "value", "missed"),
    [
        (("site", "second_run_changed"), 1, "site.second_run_changed"),
        (("site", "second_run_changed"), None, "site.second_run_changed"),
        (("site", "failed"), 1, "site.failed"),
        (("train", "digits", "accuracy_all"), 0.9699, "digits.accuracy_all"),
        (("train", "digits", "accuracy_one"), 0.9951, "digits.accuracy_difference"),
        (("train", "digits", "replicas_identical"), False, "digits.replicas_identical"),
        (("train", "gpt", "replicas_identical"), None, "gpt.replicas_identical"),
    ],
)
def test_each_target_can_be_missed(tmp_path: Path, path: tuple[str, ...], value: Any, missed: str) -> None:
    report = copy.deepcopy(REPORT)
    place = report
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    demo(tmp_path / "demo", 200.0, cached=True, report=report)
    status, content = bench(tmp_path)
    assert status == 1
    assert missed in [target["name"] for target in content["targets"] if not target["ok"]]


def test_slow_repeat_is_missed(tmp_path: Path) -> None:
    demo(tmp_path / "demo", 301.0, cached=True)
    status, content = bench(tmp_path)
    assert status == 1
    assert [target["name"] for target in content["targets"] if not target["ok"]] == ["demo_repeat_s"]


def test_run_that_was_cut_off_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(tmp_path / "demo", 20.0, cached=True, complete=False)
    assert bench(tmp_path) == (2, {})
    assert "there is no complete run. Run make demo." in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", '{"steps": [{"name": "x", "seconds": 1}], "total_seconds": 1}'])
def test_broken_steps_are_named(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (demo(tmp_path / "demo", 1, cached=True) / "steps.json").write_text(content)
    assert bench(tmp_path) == (2, {})
    assert "steps.json: is broken" in capsys.readouterr().err
