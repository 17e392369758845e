"""What a check of the guard returns."""

from typing import Protocol


class Finding(Protocol):
    """The outcome of a check."""

    @property
    def ok(self) -> bool:
        """Whether the numbers may be trusted, as far as this check can tell."""

    @property
    def sentence(self) -> str:
        """What was found, for the log or the error."""
