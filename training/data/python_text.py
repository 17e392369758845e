"""The text of Python's standard library as byte tokens: real text that is on every machine.

It differs from one Python version to the next, so its SHA-256 goes into the result and is compared between
ranks.
"""

import hashlib
import os
import pydoc_data
import sysconfig
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.data.dataset import Indices
from training.errors import InputError
from training.schema import PythonTextData

MIB = 1 << 20
# Folders of the standard library's directory that are not the library, and files that the build writes.
SKIPPED_FOLDERS = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idlelib", "lib2to3"}
SKIPPED_PREFIXES = ("_sysconfigdata", "._")


def text_files(folder: Path) -> list[Path]:
    """The `.py` files below a folder in the order of their relative paths."""
    found = []
    for name, folders, files in os.walk(folder):
        # Pruned here, because site-packages may hold a hundred times the text of the library.
        folders[:] = [item for item in folders if item not in SKIPPED_FOLDERS]
        found += [Path(name, item) for item in files if item.endswith(".py") and not item.startswith(SKIPPED_PREFIXES)]
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def read_corpus(options: PythonTextData) -> bytes:
    """The text, cut at `max_mib`: pydoc's topics first, then the files in order.

    Raises:
        InputError: The folder cannot be read.
    """
    limit = int(options.max_mib * MIB)
    if options.path is None:
        topics = [Path(pydoc_data.__path__[0]) / "topics.py"]
        # The topics stay out of the second walk, so that no text is in both parts of the split.
        library = text_files(Path(sysconfig.get_path("stdlib")))
        files = [*topics, *(path for path in library if "pydoc_data" not in path.parts)]
    else:
        files = text_files(options.path)
    corpus = bytearray()
    for path in files:
        if len(corpus) >= limit:
            break
        try:
            corpus += path.read_bytes()
        except OSError as error:
            raise InputError(f"data.path: {path} cannot be read: {error.strerror}.") from error
    return bytes(corpus[:limit])


class PythonText:
    """Windows of the text: inputs (batch, window) int64, targets the same shifted by one byte."""

    name = "python_text"

    def __init__(self, options: PythonTextData) -> None:
        """Reads the text and cuts off its end as the test part.

        Raises:
            InputError: The text is too short for one window in each part.
        """
        corpus = read_corpus(options)
        self.tokens_per_sample: int | None = options.window
        self._window = options.window
        self._bytes = torch.frombuffer(bytearray(corpus or b"\0"), dtype=torch.uint8)
        windows = max(0, len(corpus) - 1) // options.window
        self.test_size = int(windows * options.validation_fraction)
        self.train_size = windows - self.test_size
        if not self.test_size:
            source = options.path or "the standard library"
            raise InputError(
                f"data.path: {source} has {len(corpus)} bytes of Python text, too few for a training and a "
                f"test part in windows of {options.window}. Give a folder with more, or lower data.window."
            )
        self.sha256 = hashlib.sha256(corpus).hexdigest()

    def train_batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """Inputs and targets of training samples."""
        return self._pick(indices)

    def test_batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """Inputs and targets of test samples."""
        return self._pick(indices + self.train_size)

    def _pick(self, windows: Indices) -> tuple[Tensor, Tensor]:
        places = torch.from_numpy(windows[:, None] * self._window + np.arange(self._window + 1))
        tokens = self._bytes[places].long()
        return tokens[:, :-1], tokens[:, 1:]
