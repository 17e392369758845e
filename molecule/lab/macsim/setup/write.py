"""Writing a file only when it differs."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, text: str, mode: int = 0o644) -> list[str]:
    """Make a file have this content and mode; return the change in words, or nothing."""
    same = path.is_file() and not path.is_symlink() and path.read_text() == text
    if same and path.stat().st_mode & 0o7777 == mode:
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.macsim")
    part.write_text(text)
    part.chmod(mode)
    part.replace(path)
    return [f"wrote {path}"]


def link(path: Path, target: str) -> list[str]:
    """Make a symbolic link unless something is there already; return the change in words, or nothing."""
    if path.is_symlink() or path.exists():
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return [f"linked {path}"]
