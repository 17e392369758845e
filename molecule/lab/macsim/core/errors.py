"""How a simulated command ends early."""

from __future__ import annotations


class ExitError(Exception):
    """A command ends with this status after printing what the real tool prints.

    Attributes:
        status: Exit status of the command.
        out: Text for standard output, complete with its newlines.
        err: Text for standard error, complete with its newlines.
    """

    def __init__(self, status: int, out: str = "", err: str = "") -> None:
        super().__init__(out or err or f"exit {status}")
        self.status = status
        self.out = out
        self.err = err
