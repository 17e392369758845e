"""Computes the gradients of one micro-batch again on the CPU in fp32, and compares.

The bound follows from the dtype and from the model itself. How far a rounding error of one layer is carried
depends on the model: in a fresh ResNet-50 with batch norm, bf16 changes early gradients by more than their own
size, while a decoder keeps them within a hundredth. So the CPU computes the gradients a second time with every
layer's output, the gradient that comes back to it, and the weights disturbed at random by what rounding may
do there, and sees how much the gradients change.

What rounding may do there: values are stored with the unit roundoff u of the dtype that is computed in, and a
sum of n terms, accumulated in fp32 on all devices that we know, errs by about sqrt(n) * u of fp32, with a
probability that is close to one (N. J. Higham and T. Mary, "A new approach to probabilistic rounding error
analysis", SIAM Journal on Scientific Computing 41 (5), 2019).

The faults that this check exists for are wrong by factors of 1e3, or in kind. Use it in fp32 where a model
carries the errors of bf16 far: `Replay.bound` says how far.
"""

from __future__ import annotations

import contextlib
import copy
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

# Unit roundoff: half the distance from 1 to the next number (IEEE 754, and bfloat16's 8 bits of precision).
ROUNDOFF = {
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float64: 2.0**-53,
}
# Room for what one random disturbance leaves out: it is one draw, and layers that are functions are not disturbed.
SAFETY = 8.0
# Of the generator that disturbs: a replay of the same batch must give the same verdict.
SEED = 20190917

Loss = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True)
class Replay:
    """What the comparison gave.

    Attributes:
        device: Where the gradients under test came from.
        dtype: In which they were computed.
        loss_device: There.
        loss_cpu: On the CPU.
        worst: The parameter whose error is the largest against its bound.
        error: Its relative error.
        bound: What rounding can explain of it.
        failed: The errors of all parameters beyond the bound, by name.
    """

    device: str
    dtype: str
    loss_device: float
    loss_cpu: float
    worst: str
    error: float
    bound: float
    failed: Mapping[str, float]

    @property
    def ok(self) -> bool:
        """Whether rounding explains all differences."""
        return not self.failed

    @property
    def sentence(self) -> str:
        """Which gradient is how wrong."""
        compared = (
            f"the relative error of {self.worst} is {self.error:.2g}; rounding in {self.dtype} "
            f"explains {self.bound:.2g}"
        )
        if self.ok:
            return f"The gradients of {self.device} agree with the CPU's: {compared}."
        return (
            f"The gradients of {len(self.failed)} parameters on {self.device} are not the CPU's: {compared}; "
            f"the loss is {self.loss_device:.6g} there and {self.loss_cpu:.6g} on the CPU. Run with --set "
            "device=cpu, or with another version of torch."
        )


def replay(model: nn.Module, loss: Loss, batch: Any, compute_dtype: torch.dtype | None = None) -> Replay:
    """Computes one micro-batch's gradients on the model's device and on the CPU, and compares them.

    Nothing of the run is changed: gradients are asked for without touching `.grad` (so DDP does not
    communicate), buffers are put back, dropout layers are off on both sides, and the random number generators
    are as they were. Not a collective.

    Args:
        model: The bare module, whole on this rank.
        loss: The loss of a module and a batch, as in training; it must use the module that it is given, not
            one of its own, and may use autocast on the module's device.
        batch: Tensors, or lists, tuples and dicts of them, on any device.
        compute_dtype: That of autocast; None: the parameters' own.

    Raises:
        ValueError: The model has no parameter that is trained.
    """
    trained = {name: item for name, item in model.named_parameters() if item.requires_grad}
    if not trained:
        raise ValueError("the model has no parameter that is trained, so there is no gradient to compare")
    device = next(iter(trained.values())).device
    dtype = compute_dtype or next(iter(trained.values())).dtype
    twin = copy.deepcopy(model).to("cpu", torch.float32)
    with _random_state_kept(device):
        loss_device, gradients = _gradients(model, trained, loss, _moved(batch, device))
        twins = {name: item for name, item in twin.named_parameters() if item.requires_grad}
        host_batch = _moved(batch, torch.device("cpu"), torch.float32)
        loss_cpu, expected = _gradients(twin, twins, loss, host_batch)
        disturbed = _disturbed(twin, twins, loss, host_batch, unit_of(model, dtype))
    bounds = bounds_of(relative_errors(disturbed, expected), _rows(host_batch))
    errors = relative_errors(gradients, expected)
    worst = max(errors, key=lambda name: _sortable(errors[name]) / bounds[name])
    failed = {name: error for name, error in errors.items() if not error <= bounds[name]}
    return Replay(
        device=str(device),
        dtype=str(dtype).removeprefix("torch."),
        loss_device=loss_device,
        loss_cpu=loss_cpu,
        worst=worst,
        error=errors[worst],
        bound=bounds[worst],
        failed=failed,
    )


def unit_of(model: nn.Module, dtype: torch.dtype) -> float:
    """The relative error that rounding leaves in the output of a layer.

    Args:
        model: The longest sum of its layers counts.
        dtype: That is computed in.
    """
    fan_in = max((item[0].numel() for item in model.parameters() if item.ndim >= 2 and len(item)), default=1)
    return ROUNDOFF[dtype] + math.sqrt(fan_in) * ROUNDOFF[torch.float32]


def bounds_of(changes: Mapping[str, float], rows: int) -> dict[str, float]:
    """What rounding can explain of each gradient's error.

    Args:
        changes: How much a disturbance changed each gradient, relative to its norm.
        rows: Samples (times positions) over which a weight's gradient is summed.
    """
    # One draw may leave a parameter of few numbers alone by chance; the median of all does not.
    least = statistics.median(changes.values())
    own_sum = math.sqrt(max(rows, 1)) * ROUNDOFF[torch.float32]
    return {name: SAFETY * (max(change, least) + own_sum) for name, change in changes.items()}


class _Disturbance(torch.autograd.Function):
    """Multiplies by 1 + unit * (uniform from -1 to 1), forward and backward."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, unit: float, generator: torch.Generator) -> Tensor:
        ctx.unit, ctx.generator = unit, generator
        return _shaken(value, unit, generator)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _shaken(gradients[0], ctx.unit, ctx.generator), None, None


def _shaken(value: Tensor, unit: float, generator: torch.Generator) -> Tensor:
    noise = torch.empty_like(value).uniform_(-unit, unit, generator=generator)
    return value * (1 + noise)


def _disturbed(
    twin: nn.Module, parameters: Mapping[str, nn.Parameter], loss: Loss, batch: Any, unit: float
) -> dict[str, Tensor]:
    """The gradients of the twin with rounding made visible; the twin is of no use afterwards."""
    generator = torch.Generator().manual_seed(SEED)

    def shake(_module: nn.Module, _inputs: Any, output: Any) -> Any:
        if isinstance(output, Tensor) and output.is_floating_point() and output.requires_grad:
            return _Disturbance.apply(output, unit, generator)  # type: ignore[no-untyped-call]
        return output

    for layer in twin.modules():
        if next(layer.children(), None) is None:
            layer.register_forward_hook(shake)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.copy_(_shaken(parameter, unit, generator))
    return _gradients(twin, parameters, loss, batch)[1]


def relative_errors(gradients: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, float]:
    """The error of each gradient, relative to its norm in the replay.

    A gradient that is zero but for rounding (a bias before a norm) has no meaningful relative error. Its
    share of the norm of all gradients is the least that an error is divided by.
    """
    wide = {name: value.detach().double() for name, value in expected.items()}
    total = math.sqrt(sum(float(value.square().sum()) for value in wide.values()))
    elements = sum(value.numel() for value in wide.values())
    errors = {}
    for name, value in wide.items():
        difference = float((gradients[name].detach().cpu().double() - value).norm())
        least = total * math.sqrt(value.numel() / elements)
        scale = max(float(value.norm()), least)
        errors[name] = difference / scale if scale else (0.0 if difference == 0 else math.inf)
    return errors


def _sortable(error: float) -> float:
    return math.inf if math.isnan(error) else error


def _gradients(
    module: nn.Module, parameters: Mapping[str, nn.Parameter], loss: Loss, batch: Any
) -> tuple[float, dict[str, Tensor]]:
    with _buffers_kept(module), _dropout_off(module), torch.enable_grad():
        value = loss(module, batch)
        found = torch.autograd.grad(value, list(parameters.values()), allow_unused=True)
    return float(value.detach()), {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for (name, parameter), gradient in zip(parameters.items(), found, strict=True)
    }


@contextlib.contextmanager
def _buffers_kept(module: nn.Module) -> Iterator[None]:
    """Puts running statistics back."""
    kept = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)


@contextlib.contextmanager
def _dropout_off(module: nn.Module) -> Iterator[None]:
    """Two devices never draw the same numbers, so dropout layers are off."""
    layers = [layer for layer in module.modules() if isinstance(layer, _DropoutNd) and layer.training]
    for layer in layers:
        layer.training = False
    try:
        yield
    finally:
        for layer in layers:
            layer.training = True


@contextlib.contextmanager
def _random_state_kept(device: torch.device) -> Iterator[None]:
    devices = [device] if device.type == "cuda" else []
    state = torch.mps.get_rng_state() if device.type == "mps" else None
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        if state is not None:
            torch.mps.set_rng_state(state)


def _moved(batch: Any, device: torch.device, floats: torch.dtype | None = None) -> Any:
    if isinstance(batch, Tensor):
        dtype = floats if floats is not None and batch.is_floating_point() else batch.dtype
        return batch.detach().to(device=device, dtype=dtype)
    if isinstance(batch, Mapping):
        return {key: _moved(value, device, floats) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        return type(batch)([_moved(value, device, floats) for value in batch])
    return batch


def _rows(batch: Any) -> int:
    """The most numbers over which a weight's gradient can be summed: the largest tensor of the batch."""
    if isinstance(batch, Tensor):
        return batch.numel()
    values = batch.values() if isinstance(batch, Mapping) else batch
    return max((_rows(value) for value in values), default=1) if isinstance(batch, Mapping | list | tuple) else 1
