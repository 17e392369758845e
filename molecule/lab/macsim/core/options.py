"""Strict options, read as the C library's getopt does on a Mac."""

from __future__ import annotations

from collections.abc import Sequence

from macsim.core.errors import ExitError

EX_USAGE = 64  # sysexits.h


def getopt(
    name: str, argv: Sequence[str], spec: str, usage: str, status: int = EX_USAGE
) -> tuple[list[tuple[str, str]], list[str]]:
    """Split arguments into options and operands; the first operand ends the options.

    Args:
        name: Name of the tool, for its messages.
        argv: Arguments without the name.
        spec: Letters; a letter before a colon takes a value.
        usage: What the tool prints below its complaint, with its newline.
        status: Exit status for a wrong option.

    Returns:
        Pairs of letter and value ("" for a flag), and the operands.

    Raises:
        ExitError: An option that the tool does not know, or one without its value.
    """
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(argv):
        word = argv[position]
        if word == "--":
            return found, list(argv[position + 1 :])
        if len(word) < 2 or word[0] != "-":
            break
        position += 1
        at = 1
        while at < len(word):
            letter = word[at]
            at += 1
            index = spec.find(letter)
            if letter == ":" or index < 0:
                raise ExitError(status, err=f"{name}: illegal option -- {letter}\n{usage}")
            if spec[index + 1 : index + 2] != ":":
                found.append((letter, ""))
                continue
            if at < len(word):
                found.append((letter, word[at:]))
            elif position < len(argv):
                found.append((letter, argv[position]))
                position += 1
            else:
                raise ExitError(status, err=f"{name}: option requires an argument -- {letter}\n{usage}")
            break
    return found, list(argv[position:])
