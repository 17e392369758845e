"""plutil: checks property lists."""

from __future__ import annotations

import plistlib
from pathlib import Path

from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command

_USAGE = "plutil: [command_option] [other_options] file...\n"


def run(argv: list[str], context: Context) -> int:
    """Check each file; -s prints only what is wrong. Without a verb plutil checks, as with -lint."""
    words = list(argv)
    if words and words[0] == "-lint":
        words.pop(0)
    silent = bool(words) and words[0] == "-s"
    if silent:
        words.pop(0)
    if words and words[0] == "--":
        words.pop(0)
    if words and words[0].startswith("-") and words[0] != "-":
        raise ExitError(1, err=f"{words[0]}: unrecognized option: {words[0]}\n{_USAGE}")
    if not words:
        raise ExitError(1, err=f"No files specified.\n{_USAGE}")
    status = 0
    for word in words:
        problem = _problem(Path(word))
        if problem:
            status = 1
            context.print(f"{word}: {problem}")
        elif not silent:
            context.print(f"{word}: OK")
    return status


def _problem(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError:
        return (
            "file does not exist or is not readable or is not a regular file (Error Domain=NSCocoaErrorDomain Code=260)"
        )
    try:
        plistlib.loads(data)
    except plistlib.InvalidFileException:
        return "Unexpected character at line 1"
    except Exception as error:  # plistlib passes on what expat raises
        line = getattr(error, "lineno", None)
        return f"{error}" if line is None else f"Encountered unexpected element at line {line} ({error})"
    return ""


COMMAND = Command("plutil", ("/usr/bin/plutil",), run)
