"""The wheelhouse, with the real pip and a small index of wheels made here; nothing comes from the network."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from espalier.wheel_lock import LockError, parse_constraints, parse_lock
from espalier.wheelhouse import Target, bundle, current_lock, fetch, inspect, make_lock, sha256_of


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    requires: tuple[str, ...] = (),
    tag: str = "py3-none-any",
    extra: str = "",
) -> Path:
    """A wheel with nothing but metadata; `extra` changes its content."""
    path = folder / f"{name}-{version}-{tag}.whl"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", extra)
    return path


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    make_wheel(
        folder,
        "big",
        "1.0",
        ('small; platform_system == "Darwin"', 'other; platform_system == "Linux"', "deep<2"),
    )
    make_wheel(folder, "small", "0.1", ("deep",))
    make_wheel(folder, "deep", "1.5")
    make_wheel(folder, "deep", "2.0")
    return folder


@pytest.fixture
def mac(index: Path) -> Target:
    return Target(("macosx_14_0_arm64",), "3.12", ("--no-index", "--find-links", str(index)))


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    folder = tmp_path / "build" / "wheelhouse"
    folder.mkdir(parents=True)
    return folder


def test_it_resolves_for_the_node_and_locks_every_file(index: Path, mac: Target, wheelhouse: Path) -> None:
    lock = parse_lock(make_lock(["big"], parse_constraints("small==0.1"), mac, wheelhouse), "x")
    assert {name: pin.version for name, pin in lock.items()} == {"big": "1.0", "small": "0.1", "deep": "1.5"}
    assert lock["big"].sha256 == (sha256_of(index / "big-1.0-py3-none-any.whl"),)
    assert sorted(path.name for path in wheelhouse.glob("*.whl")) == [
        "big-1.0-py3-none-any.whl",
        "deep-1.5-py3-none-any.whl",
        "small-0.1-py3-none-any.whl",
    ]


def test_requirements_that_contradict_each_other_say_what_to_pin(index: Path, mac: Target) -> None:
    make_wheel(index, "greedy", "1", ("deep>=2",))
    with pytest.raises(LockError, match=r"needs deep.*pin a version of deep that suits both"):
        make_lock(["greedy", "big"], {}, mac, None)


def test_a_wheel_that_does_not_exist_for_the_platform_is_named(index: Path, mac: Target) -> None:
    make_wheel(index, "linuxonly", "1", tag="cp312-cp312-manylinux_2_28_x86_64")
    with pytest.raises(LockError, match=r"macosx_14_0_arm64, Python 3.12.*linuxonly"):
        make_lock(["linuxonly"], {}, mac, None)


def test_it_fetches_what_is_missing_and_removes_what_is_not_locked(mac: Target, wheelhouse: Path) -> None:
    lock = parse_lock(make_lock(["big"], {}, mac, wheelhouse), "x")
    (wheelhouse / "deep-1.5-py3-none-any.whl").unlink()
    make_wheel(wheelhouse, "deep", "2.0")
    fetched = fetch(lock, mac, wheelhouse)
    assert fetched.keys() == lock.keys()
    assert sorted(path.name for path in wheelhouse.glob("deep*")) == ["deep-1.5-py3-none-any.whl"]


def test_a_changed_file_in_the_wheelhouse_is_refused_by_name(mac: Target, wheelhouse: Path) -> None:
    lock = parse_lock(make_lock(["big"], {}, mac, wheelhouse), "x")
    make_wheel(wheelhouse, "big", "1.0", extra="tampered")
    with pytest.raises(LockError, match=r"big-1\.0-py3-none-any\.whl has the SHA-256 .* not in the lock for big==1\.0"):
        fetch(lock, mac, wheelhouse)


def test_a_changed_file_at_the_index_never_reaches_the_wheelhouse(index: Path, mac: Target, wheelhouse: Path) -> None:
    lock = parse_lock(make_lock(["big"], {}, mac, wheelhouse), "x")
    for path in wheelhouse.glob("big*"):
        path.unlink()
    make_wheel(index, "big", "1.0", extra="tampered")
    with pytest.raises(LockError, match=r"(?s)big"):
        fetch(lock, mac, wheelhouse)
    assert not list(wheelhouse.glob("big*"))
    assert not list(wheelhouse.parent.glob(".fetch-*"))


def test_the_first_lock_is_written_and_then_required(
    tmp_path: Path, index: Path, mac: Target, wheelhouse: Path
) -> None:
    path = tmp_path / "locks" / "x.lock"
    first, written = current_lock(path, ["big"], "", mac, wheelhouse, may_write=True)
    again, rewritten = current_lock(path, ["big"], "", mac, wheelhouse, may_write=True)
    assert written and not rewritten and first == again
    # a new pin renews it; the release that it knows must still be the same file
    make_wheel(index, "small", "0.2")
    make_wheel(index, "big", "1.0", ("small",), extra="tampered")
    with pytest.raises(LockError, match=r"other files than before for big"):
        current_lock(path, ["big"], "small==0.2", mac, wheelhouse, may_write=True)
    assert parse_lock(path.read_text(), "x") == first


def test_a_shipped_lock_is_never_written(tmp_path: Path, mac: Target, wheelhouse: Path) -> None:
    path = tmp_path / "x.lock"
    path.write_text(make_lock(["big"], {}, mac, None))
    before = path.read_text()
    with pytest.raises(LockError, match=r"no longer fits: big 1\.0 is in it.*tools/wheel_lock\.py"):
        current_lock(path, ["big"], "big==2.0", mac, wheelhouse, may_write=False)
    assert path.read_text() == before


def test_nothing_found_in_an_empty_folder(mac: Target, wheelhouse: Path) -> None:
    lock = parse_lock(make_lock(["deep"], {}, mac, None), "x")
    assert inspect(wheelhouse, lock) == ({}, [])


def test_the_archive_holds_the_wheels_and_follows_their_changes(index: Path, mac: Target, wheelhouse: Path) -> None:
    wheels = fetch(parse_lock(make_lock(["deep"], {}, mac, None), "x"), mac, wheelhouse)
    first = bundle(wheelhouse, wheels)
    assert bundle(wheelhouse, wheels) == first
    make_wheel(index, "deep", "3.0")
    wheels = fetch(parse_lock(make_lock(["deep"], {}, mac, None), "x"), mac, wheelhouse)
    second = bundle(wheelhouse, wheels)
    assert [path.name for path in wheelhouse.glob("*.tar*")] == [second.name]
    with tarfile.open(second) as archive:
        assert archive.getnames() == ["deep-3.0-py3-none-any.whl"]
