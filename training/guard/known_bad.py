"""Combinations of torch, device and settings that are known to compute wrong numbers, as a table.

A row is refused, or only said, before anything is computed. Every row names the public issue; a row leaves
the table when no supported torch has the fault.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from training.errors import InputError

Version = tuple[int, int]
ISSUES = "https://github.com/pytorch/pytorch/issues"

# Rows of one product (samples times positions) from which gradients were reported 1e3 to 1e5 times too large,
# after another batch size had been used before: pytorch issue 177116.
ROW_LIMIT = 32_000
# Elements of one batched product's output beyond which an index of 32 bits wraps: pytorch issue 197636.
PRODUCT_LIMIT = 2**32
# Classes from which the gradient of an output layer was reported to differ: pytorch issue 153957 (50257).
CLASS_LIMIT = 50_000


@dataclass(frozen=True)
class Setup:
    """What the table asks about a run. A value that is not known is left at its harmless default.

    Attributes:
        device: `mps`, `cuda` or `cpu`.
        torch: Major and minor version.
        world_size: Ranks.
        environment: Variables of the process.
        channels_last: Whether images or weights are in that memory format.
        batch_norm: Whether the model has a batch norm.
        non_blocking: Whether batches are copied to the device with non_blocking=True.
        rows: Samples times positions of a micro-batch.
        fixed_shapes: Whether all batches of the run have one shape.
        product_elements: Elements of the largest batched product, such as batch * heads * length * length.
        classes: Of the output layer.
        half_parameters: Whether parameters themselves are fp16 or bf16.
        grad_scaler: Whether torch's GradScaler is used.
        grouped_queries: Whether attention has fewer key heads than query heads.
        device_threads: Threads that issue work to the device.
    """

    device: str
    torch: Version
    world_size: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    channels_last: bool = False
    batch_norm: bool = False
    non_blocking: bool = False
    rows: int = 0
    fixed_shapes: bool = True
    product_elements: int = 0
    classes: int = 0
    half_parameters: bool = False
    grad_scaler: bool = False
    grouped_queries: bool = False
    device_threads: int = 1


@dataclass(frozen=True)
class KnownBad:
    """A row of the table.

    Attributes:
        name: Short, for tests and logs.
        issues: Numbers of pytorch's public issues.
        when: Whether the settings meet the fault; device and version are asked before.
        what: What goes wrong, with the value that triggers it.
        fix: What to change.
        device: On which it happens.
        since: The first torch with the fault, None: all before `fixed`.
        fixed: The first torch without it, None: not fixed as far as is known.
        certain: Whether to refuse; else it is only said, and a replay must show it.
    """

    name: str
    issues: tuple[int, ...]
    when: Callable[[Setup], bool]
    what: Callable[[Setup], str]
    fix: str
    device: str = "mps"
    since: Version | None = None
    fixed: Version | None = None
    certain: bool = True

    def meets(self, setup: Setup) -> bool:
        """Whether a run would meet the fault."""
        return (
            setup.device == self.device
            and (self.since is None or setup.torch >= self.since)
            and (self.fixed is None or setup.torch < self.fixed)
            and self.when(setup)
        )

    def sentence(self, setup: Setup) -> str:
        """What is wrong, where it is known from, and what to do."""
        numbers = ", ".join(str(number) for number in self.issues)
        plural = "s" if len(self.issues) > 1 else ""
        until = f" before torch {self.fixed[0]}.{self.fixed[1]}" if self.fixed else ""
        return f"{self.what(setup)} on {self.device}{until} (pytorch issue{plural} {numbers}). {self.fix}"


KNOWN_BAD: tuple[KnownBad, ...] = (
    KnownBad(
        name="fallback",
        issues=(173808,),
        when=lambda it: it.world_size > 1 and it.environment.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") == "1",
        what=lambda _: "PYTORCH_ENABLE_MPS_FALLBACK=1 lets collectives leave tensors unchanged without an error",
        fix="Unset the variable.",
        # Pull request 173954 was merged on 2026-01-30, after 2.10 was out.
        fixed=(2, 11),
    ),
    KnownBad(
        name="channels_last batch norm",
        issues=(175189,),
        when=lambda it: it.channels_last and it.batch_norm,
        what=lambda _: "the backward pass of batch norm is wrong for tensors in channels_last",
        fix="Leave the memory format at contiguous.",
    ),
    KnownBad(
        name="non_blocking copies",
        issues=(83015, 139550, 189690),
        when=lambda it: it.non_blocking,
        what=lambda _: "copies with non_blocking=True have delivered other bytes than were sent",
        fix="Copy with non_blocking=False.",
    ),
    KnownBad(
        name="rows of changing batches",
        issues=(177116,),
        when=lambda it: it.rows > ROW_LIMIT and not it.fixed_shapes,
        what=lambda it: f"gradients are wrong for {it.rows} rows (over {ROW_LIMIT}) when batch shapes change",
        fix="Drop the short last batch, or make micro-batches smaller.",
    ),
    KnownBad(
        name="rows",
        issues=(177116,),
        when=lambda it: it.rows > ROW_LIMIT and it.fixed_shapes,
        what=lambda it: f"gradients may be wrong for {it.rows} rows (over {ROW_LIMIT}) in a micro-batch",
        fix="Keep the replay on the CPU turned on, or make micro-batches smaller.",
        certain=False,
    ),
    KnownBad(
        name="large product",
        issues=(197636,),
        when=lambda it: it.product_elements > PRODUCT_LIMIT,
        what=lambda it: f"a batched product with {it.product_elements} elements (over 2^32) is wrong",
        fix="Make micro-batches or windows smaller.",
    ),
    KnownBad(
        name="many classes",
        issues=(153957,),
        when=lambda it: it.classes >= CLASS_LIMIT,
        what=lambda it: f"the gradient of an output layer with {it.classes} classes may be wrong",
        fix="Keep the replay on the CPU turned on.",
        certain=False,
    ),
    KnownBad(
        name="two threads",
        issues=(197805,),
        when=lambda it: it.device_threads > 1,
        what=lambda it: f"{it.device_threads} threads that issue work to the device end the process",
        fix="Move batches to the device on the training thread.",
    ),
    KnownBad(
        name="scaler with half parameters",
        issues=(184286,),
        when=lambda it: it.grad_scaler and it.half_parameters,
        what=lambda _: "GradScaler sets the gradients of half-precision parameters to zero",
        fix="Keep the parameters in fp32 and use autocast.",
        # Fixed in May 2026, after 2.12 was cut.
        fixed=(2, 13),
    ),
    KnownBad(
        name="grouped queries",
        issues=(163597, 174861),
        when=lambda it: it.grouped_queries,
        what=lambda _: "scaled_dot_product_attention with grouped queries reads out of bounds",
        fix="Update torch.",
        since=(2, 8),
        fixed=(2, 11),
    ),
)


def found(setup: Setup) -> list[KnownBad]:
    """The rows that a run would meet."""
    return [row for row in KNOWN_BAD if row.meets(setup)]


def check(setup: Setup) -> list[str]:
    """Refuses a run that would compute wrong numbers.

    Returns:
        Sentences about what may go wrong, to be said at the start.

    Raises:
        InputError: Something is known to go wrong; the message names all of it.
    """
    rows = found(setup)
    refused = [row.sentence(setup) for row in rows if row.certain]
    if refused:
        raise InputError("; ".join(f"this would train on wrong numbers: {sentence}" for sentence in refused))
    return [row.sentence(setup) for row in rows]


def setup_of(model: nn.Module, device: str, world_size: int = 1, **settings: bool | int) -> Setup:
    """The setup of this process, with what can be seen in the model.

    Args:
        model: Bare, in the memory format in which it will train.
        device: `mps`, `cuda` or `cpu`.
        world_size: Ranks.
        settings: What cannot be seen in the model: the other attributes of Setup.

    Raises:
        TypeError: A setting is none of Setup's.
    """
    parameters = list(model.parameters())
    seen: dict[str, bool | int] = {
        "channels_last": any(_is_channels_last(parameter) for parameter in parameters),
        "batch_norm": any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()),
        "half_parameters": any(item.dtype in (torch.float16, torch.bfloat16) for item in parameters),
        "classes": max((m.out_features for m in model.modules() if isinstance(m, nn.Linear)), default=0),
    }
    values = {**seen, **settings}
    return Setup(
        device=device,
        torch=_version(torch.__version__),
        world_size=world_size,
        environment=dict(os.environ),
        **values,  # type: ignore[arg-type]
    )


def _is_channels_last(parameter: torch.Tensor) -> bool:
    """Whether a weight of images is stored so alone: 1x1 kernels are contiguous at the same time."""
    return (
        parameter.ndim == 4
        and parameter.is_contiguous(memory_format=torch.channels_last)
        and not parameter.is_contiguous()
    )


def _version(text: str) -> Version:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
