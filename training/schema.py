"""What a job file may say: one dataclass a section, with the limits of each value beside it.

Nothing here imports torch, so a bad file is refused before the seconds that torch takes to load.
"Sample" is one image or one text window, "batch" the samples of one step over all ranks.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


def option(default: Any, fix: str, *, least: float | None = None, most: float | None = None) -> Any:
    """A dataclass field whose limits and hint the validation uses.

    Args:
        default: The value when the file does not give one.
        fix: The end of the error message: what to write instead.
        least: The smallest value allowed, itself included.
        most: The largest value allowed, itself included.
    """
    return field(default=default, metadata={"fix": fix, "least": least, "most": most})


@dataclass(frozen=True)
class DigitsCnnOptions:
    """A small convolutional network for 8x8 grey images."""

    name: Literal["digits_cnn"] = "digits_cnn"
    width: int = option(24, "give the channels of the first layer, such as 24", least=1, most=1024)
    hidden: int = option(96, "give the width of the hidden layer, such as 96", least=1, most=65536)


@dataclass(frozen=True)
class GptOptions:
    """A decoder over byte tokens."""

    name: Literal["gpt"] = "gpt"
    layers: int = option(2, "give the number of blocks, such as 2", least=1, most=256)
    heads: int = option(4, "give the attention heads, a divisor of model.dim", least=1, most=256)
    dim: int = option(96, "give the width of a token, a multiple of model.heads", least=1, most=65536)
    context: int = option(64, "give the longest window in tokens, at least data.window", least=2, most=1 << 20)


@dataclass(frozen=True)
class DigitsData:
    """scikit-learn's 1797 handwritten digits, split once by `split_seed`."""

    name: Literal["digits"] = "digits"
    split_seed: int = option(0, "give a whole number from 0 up", least=0, most=2**31)
    test_fraction: float = option(0.2, "give the share of images kept for the test", least=0.05, most=0.5)


@dataclass(frozen=True)
class PythonTextData:
    """The text of Python's own standard library as byte tokens, or of the `.py` files of a folder."""

    name: Literal["python_text"] = "python_text"
    path: Path | None = field(
        default=None,
        metadata={"fix": "give a folder with .py files, or leave it out for the standard library"},
    )
    window: int = option(64, "give the tokens of one sample, such as 64", least=2, most=1 << 20)
    max_mib: float = option(2.0, "give the MiB of text to use", least=0.01, most=4096)
    validation_fraction: float = option(0.05, "give the share of text kept for the test", least=0.001, most=0.5)


@dataclass(frozen=True)
class TrainOptions:
    """How long, in what portions, and how often something is said about it."""

    steps: int = option(300, "give the number of optimiser steps, such as 300", least=1, most=10**9)
    global_batch: int = option(96, "give the samples of one step over all ranks, such as 96", least=1, most=10**7)
    log_every: int = option(20, "give the steps between two reports, such as 20", least=1, most=10**9)
    clip_norm: float = option(1.0, "give the largest gradient norm, 0 for no clipping", least=0, most=1e9)


@dataclass(frozen=True)
class OptimizerOptions:
    """The optimiser and its constants."""

    name: Literal["adamw", "sgd"] = "adamw"
    lr: float = option(3e-3, "give the highest learning rate, such as 0.003", least=1e-12, most=100)
    weight_decay: float = option(0.01, "give the weight decay, such as 0.01", least=0, most=10)
    beta1: float = option(0.9, "give the decay of the first moment (momentum for sgd)", least=0, most=0.99999)
    beta2: float = option(0.95, "give the decay of the second moment, such as 0.95", least=0, most=0.99999)


@dataclass(frozen=True)
class ScheduleOptions:
    """Linear warm-up, then half a cosine down to a fraction of the highest learning rate."""

    warmup_steps: int = option(20, "give the steps of the warm-up, 0 for none", least=0, most=10**9)
    final_fraction: float = option(0.05, "give the learning rate at the end over the highest", least=0, most=1)


@dataclass(frozen=True)
class DistributedOptions:
    """How the ranks speak to one another."""

    backend: Literal["unified", "gloo"] = "unified"
    timeout_s: float = option(60.0, "give the seconds after which a silent peer is an error", least=1, most=86400)
    connect_timeout_s: float = option(120.0, "give the seconds to wait for all ranks to come up", least=1, most=86400)
    bucket_mib: float = option(25.0, "give the MiB of gradients sent at once", least=0.01, most=4096)


ModelOptions = DigitsCnnOptions | GptOptions
DataOptions = DigitsData | PythonTextData


@dataclass(frozen=True)
class JobConfig:
    """One job: what is trained, on what, how long, and how."""

    model: ModelOptions
    data: DataOptions
    name: str = "job"
    seed: int = option(1, "give a whole number from 0 up", least=0, most=2**31)
    device: Literal["auto", "mps", "cuda", "cpu"] = "auto"
    train: TrainOptions = field(default_factory=TrainOptions)
    optimizer: OptimizerOptions = field(default_factory=OptimizerOptions)
    schedule: ScheduleOptions = field(default_factory=ScheduleOptions)
    distributed: DistributedOptions = field(default_factory=DistributedOptions)


# The section's `name` says which dataclass reads the rest of it.
VARIANTS: dict[str, dict[str, type]] = {
    "model": {"digits_cnn": DigitsCnnOptions, "gpt": GptOptions},
    "data": {"digits": DigitsData, "python_text": PythonTextData},
}
