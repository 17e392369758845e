"""Locks of wheels: what they accept, what they refuse, and for which machine markers are evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest
from espalier.wheel_lock import (
    LockError,
    Pin,
    applicable,
    fits,
    hash_conflicts,
    lock_name,
    lock_problems,
    marker_environment,
    parse_constraints,
    parse_lock,
    parse_requirement,
    render_lock,
)
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
A, B = "a" * 64, "b" * 64

pins = st.dictionaries(
    st.sampled_from(["torch", "numpy", "scikit-learn", "typing-extensions"]),
    st.tuples(st.sampled_from(["1.0", "2.13.0+cpu"]), st.sets(st.sampled_from([A, B]), min_size=1)),
    min_size=1,
)


@given(pins)
def test_a_written_lock_reads_back_as_it_was(content: dict[str, tuple[str, set[str]]]) -> None:
    lock = {name: Pin(name, version, tuple(sorted(hashes))) for name, (version, hashes) in content.items()}
    assert parse_lock(render_lock(lock, ["macosx_14_0_arm64"], "3.12"), "x.lock") == lock


def test_names_are_canonical_and_lines_may_be_continued() -> None:
    lock = parse_lock(f"Typing_Extensions==4.1 \\\n  --hash=sha256:{A}\n", "x.lock")
    assert list(lock) == ["typing-extensions"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torch==2.13.0\n", "x.lock: entry 1 is not"),
        (f"torch>=2 --hash=sha256:{A}\n", "x.lock: entry 1 is not"),
        (f"torch==2 --hash=sha256:{A}\ntorch==2 --hash=sha256:{B}\n", "torch is pinned twice"),
        ("# nothing\n", "pins nothing"),
        ("torch==2 --hash=sha256:abc\n", "64 hex digits"),
    ],
)
def test_a_damaged_lock_is_refused_and_named(text: str, message: str) -> None:
    with pytest.raises(LockError, match=message):
        parse_lock(text, "x.lock")


def test_markers_are_those_of_the_node_and_not_of_this_machine() -> None:
    requires = [
        'nvidia-nccl==2; platform_system == "Linux"',
        'pyobjc; sys_platform == "darwin"',
        'x; extra == "dev"',
    ]
    mac = applicable(requires, marker_environment("macosx_14_0_arm64", "3.12"), "torch")
    linux = applicable(requires, marker_environment("manylinux_2_28_x86_64", "3.12"), "torch")
    assert [item.name for item in mac] == ["pyobjc"]
    assert [item.name for item in linux] == ["nvidia-nccl"]


def test_an_unknown_platform_is_named_with_an_example() -> None:
    with pytest.raises(LockError, match=r"'win_amd64' is not known: use a tag such as macosx_14_0_arm64"):
        marker_environment("win_amd64", "3.12")


def test_a_local_version_satisfies_the_pin_without_it() -> None:
    assert fits("2.13.0+cpu", parse_requirement("torch==2.13.0", "here"))
    assert not fits("2.13.1", parse_requirement("torch==2.13.0", "here"))


def test_a_lock_that_lags_behind_the_constraints_is_noticed() -> None:
    lock = {"torch": Pin("torch", "2.13.0+cpu", (A,)), "numpy": Pin("numpy", "2.4.6", (B,))}
    wanted = [parse_requirement(name, "pyproject.toml") for name in ("torch", "numpy")]
    assert lock_problems(lock, wanted, parse_constraints("torch==2.13.0\nnumpy==2.4.6  # why\n")) == []
    assert lock_problems(lock, wanted, parse_constraints("torch==2.14.0\n")) == [
        "torch 2.13.0+cpu is in it, the constraints file says torch==2.14.0"
    ]
    more = [*wanted, parse_requirement("tqdm", "pyproject.toml")]
    assert lock_problems(lock, more, {}) == ["tqdm is needed and not in it"]


def test_the_same_release_with_another_file_is_a_conflict_and_a_new_release_is_none() -> None:
    old = {"torch": Pin("torch", "2.13.0", (A,))}
    assert hash_conflicts(old, {"torch": Pin("torch", "2.13.0", (B,))}) == ["torch"]
    assert hash_conflicts(old, {"torch": Pin("torch", "2.14.0", (B,)), "numpy": Pin("numpy", "1", (A,))}) == []


@pytest.mark.parametrize(("platforms", "version"), [([], "3.12"), (["macosx_14_0_arm64"], "3")])
def test_a_lock_without_platform_or_minor_version_has_no_name(platforms: list[str], version: str) -> None:
    with pytest.raises(LockError):
        lock_name(platforms, version)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_shipped_locks_fit_what_the_project_asks_for(version: str) -> None:
    import tomllib

    path = ROOT / "files" / "wheels" / f"{lock_name(['macosx_14_0_arm64'], version)}.lock"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = applicable(project["dependencies"], marker_environment("macosx_14_0_arm64", version), "pyproject.toml")
    constraints = parse_constraints((ROOT / "constraints.txt").read_text())
    assert lock_problems(parse_lock(path.read_text(), str(path)), wanted, constraints) == []
