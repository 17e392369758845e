"""The project's own wheel: rebuilt when its sources changed, and the same for the same sources."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from espalier.package_wheel import BuildError, build, built, content_hash


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "training").mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "espalier"\nversion = "9.9"\n[tool.setuptools]\npackages = ["training"]\n'
    )
    (root / "README.md").write_text("# x\n")
    (root / "training" / "__init__.py").write_text("A = 1\n")
    (root / "training" / "old.py").write_text("B = 1\n")
    return root


def test_the_wheel_is_kept_until_a_source_changes(project: Path, tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    assert built(project, dest) is None
    wheel = build(project, dest)
    assert wheel.file == "espalier-9.9-py3-none-any.whl"
    assert built(project, dest) == wheel
    (project / "training" / "old.py").unlink()
    assert built(project, dest) is None
    newer = build(project, dest)
    assert newer.sha256 != wheel.sha256
    with zipfile.ZipFile(dest / newer.file) as archive:
        assert "training/old.py" not in archive.namelist()
    assert not (project / "build").exists(), "the checkout stays as it was"


def test_the_same_sources_give_the_same_file(project: Path, tmp_path: Path) -> None:
    assert build(project, tmp_path / "one").sha256 == build(project, tmp_path / "two").sha256


def test_a_damaged_wheel_is_built_again(project: Path, tmp_path: Path) -> None:
    wheel = build(project, tmp_path / "dest")
    (tmp_path / "dest" / wheel.file).write_bytes(b"cut off")
    assert built(project, tmp_path / "dest") is None


def test_caches_are_no_sources(project: Path) -> None:
    before = content_hash(project)
    (project / "training" / "__pycache__").mkdir()
    (project / "training" / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert content_hash(project) == before


def test_a_build_that_fails_says_why_and_leaves_no_wheel(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'no_such_backend'\n")
    with pytest.raises(BuildError, match="no_such_backend"):
        build(project, tmp_path / "dest")
    assert list((tmp_path / "dest").iterdir()) == []
