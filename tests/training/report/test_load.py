"""Bad input: refused with the file and the key, and nothing is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.errors import InputError
from training.report.load import load

ONE = "train/digits/one/result.json"


@pytest.mark.parametrize(
    "name", ["cables.json", "allreduce.json", "environment.json", ONE, "train/gpt/all/result.json"]
)
def test_missing_file_is_named(raw: Any, name: str) -> None:
    del raw.files[name]
    with pytest.raises(InputError, match=f"^{re.escape(name)}: missing"):
        load(raw.write())


@pytest.mark.parametrize("name", ["rack.json", "site.json", "cables.json", "allreduce.json", "environment.json", ONE])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ('{"a": ', "is not JSON"),
        ('{"a": NaN}', "NaN is not a finite number"),
        ("[" * 100_000, "is not JSON"),
        ("7", "must be"),
    ],
)
def test_broken_file_is_named(raw: Any, name: str, content: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        load(raw.text(name, content))
    assert str(caught.value).startswith(name)
    assert reason in str(caught.value)


def test_text_in_another_encoding(raw: Any) -> None:
    folder = raw.write()
    (folder / "site.json").write_bytes(b'{"hosts": "\xff"}')
    with pytest.raises(InputError, match=r"^site\.json: is not UTF-8"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("rack.json", ["nodes"], [], "rack.json: nodes: is empty"),
        ("rack.json", ["nodes", 1, "name"], "", "rack.json: nodes[1].name: is empty"),
        ("rack.json", ["nodes", 1, "name"], "head", "rack.json: nodes[1].name: 'head' is there twice"),
        (
            "rack.json",
            ["nodes", 0, "role"],
            "boss",
            "rack.json: nodes[0].role: 'boss' is not one of head, mac",
        ),
        ("rack.json", ["cables", 0, "b"], "mac9", "rack.json: cables[0].b: 'mac9' is not a node"),
        ("rack.json", ["cables", 0, "a_port"], 0, "rack.json: cables[0].a_port: 0 is less than 1"),
        ("site.json", ["hosts"], "4", "site.json: hosts: must be a whole number, not text"),
        ("site.json", ["failed"], True, "site.json: failed: must be a whole number, not true or false"),
        ("site.json", ["seconds"], -1, "site.json: seconds: -1 is less than 0"),
        ("cables.json", [0, "gbit_s_ab"], -2, "cables.json: cables[0].gbit_s_ab: -2 is less than 0"),
        ("cables.json", [0, "gbit_s_ab"], None, "cables[0].gbit_s_ab: is null, but error does not say why"),
        ("cables.json", [0, "a"], "mac3", "cables.json: cables: mac3 port 1 to mac2 port 2 is not among"),
        ("cables.json", [0, "b"], "mac1", "cables.json: cables[0].b: 'mac1' is also the other end"),
        ("allreduce.json", ["results"], [], "allreduce.json: results: is empty, but error"),
        (
            "allreduce.json",
            ["results", 2, "busbw_gb_s"],
            "x",
            "allreduce.json: results[2].busbw_gb_s: must be",
        ),
        ("environment.json", ["shared_cores"], 0, "environment.json: shared_cores: 0 is less than 1"),
        ("environment.json", ["commands"], [1], "environment.json: commands[0]: must be text"),
        (ONE, ["accuracy"], 98.1, f"{ONE}: accuracy: 98.1 is more than 1"),
        (ONE, ["world_size"], 2, f"{ONE}: nodes: has 1 names, but world_size is 2"),
        (ONE, ["losses"], [[1, 2.0], [1, 1.9]], f"{ONE}: losses[1]: step 1 does not come after step 1"),
        (ONE, ["losses"], [[1]], f"{ONE}: losses[0]: must be [step, loss]"),
        (ONE, ["losses"], [], f"{ONE}: losses: is empty"),
        (ONE, ["parameters_sha256"], {}, f"{ONE}: parameters_sha256: must have one hash for each of mac1"),
        (ONE, ["parameters_sha256"], {"mac1": 3}, f"{ONE}: parameters_sha256.mac1: must be text"),
        (ONE, ["replicas_identical"], False, f"{ONE}: replicas_identical: is false, but parameters_sha256"),
    ],
)
def test_bad_value_is_named(raw: Any, name: str, path: list[Any], value: Any, message: str) -> None:
    place = raw.files[name]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(InputError) as caught:
        load(raw.write())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "path", "shown"),
    [
        ("rack.json", ["cables"], "rack.json: cables"),
        ("site.json", ["second_run_changed"], "site.json: second_run_changed"),
        ("cables.json", [1, "rtt_ms"], "cables.json: cables[1].rtt_ms"),
        ("cables.json", [1, "error"], "cables.json: cables[1].error"),
        ("allreduce.json", ["world_size"], "allreduce.json: world_size"),
        (ONE, ["samples_s"], f"{ONE}: samples_s"),
        (ONE, ["environment"], f"{ONE}: environment"),
    ],
)
def test_missing_key_is_named(raw: Any, name: str, path: list[Any], shown: str) -> None:
    place = raw.files[name]
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    with pytest.raises(InputError, match=f"^{re.escape(shown)}: missing"):
        load(raw.write())


def test_cable_counts_once_whichever_end_comes_first(raw: Any) -> None:
    first = raw.files["cables.json"][0]
    raw.files["cables.json"].append(
        {**first, "a": first["b"], "a_port": first["b_port"], "b": first["a"], "b_port": first["a_port"]}
    )
    with pytest.raises(InputError, match=r"cables\[3\]: mac2 port 2 to mac1 port 1 is there twice"):
        load(raw.write())


def test_cables_without_a_rack(raw: Any) -> None:
    del raw.files["rack.json"]
    with pytest.raises(InputError, match=r"^cables\.json: has cables, but rack\.json"):
        load(raw.write())


def test_no_training_run(raw: Any) -> None:
    raw.files = {name: content for name, content in raw.files.items() if not name.startswith("train/")}
    with pytest.raises(InputError, match=r"^train/: no training run"):
        load(raw.write())


def test_refused_input_leaves_the_old_report(
    raw: Any, espalier: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    output = tmp_path / "out"
    assert espalier("report", "--input", raw.write(), "--output", output)[0] == 0
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    raw.files["allreduce.json"]["results"][0]["seconds"] = "fast"
    status, out, err = espalier("report", "--input", raw.write(), "--output", output)
    assert (status, out) == (2, "")
    assert err.startswith("espalier: allreduce.json: results[0].seconds: must be a number, not text")
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before


def test_input_that_is_no_folder(espalier: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    status, _, err = espalier("report", "--input", tmp_path / "nowhere", "--output", tmp_path / "out")
    assert status == 2
    assert "nowhere: is not a folder" in err
    assert not (tmp_path / "out").exists()


def test_report_of_another_version(raw: Any, espalier: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**raw.report(), "version": 99}))
    status, _, err = espalier("report", "--summary", path)
    assert status == 2
    assert "report.json: version: is 99; this espalier reads 1" in err
