import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from training.guard.replay import ROUNDOFF, SAFETY, bounds_of, relative_errors, replay, unit_of


class Wrong(torch.autograd.Function):
    """The right value with a gradient that is off by a factor."""

    @staticmethod
    def forward(ctx, value, factor):
        ctx.factor = factor
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Faulty(nn.Module):
    """Stands for a device with a fault: a copy of it (the replay's twin) does not have it."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = factor

    def forward(self, value):
        return Wrong.apply(value, self.factor)

    def __deepcopy__(self, memo):
        return Faulty()


def network(fault=1.0):
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        Faulty(fault),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(8 * 64, 16),
        nn.GELU(),
        nn.Linear(16, 5),
    )


def batch(count=16):
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(count, 3, 8, 8, generator=generator)
    return images, torch.randint(0, 5, (count,), generator=generator)


def cross_entropy(module, data):
    return functional.cross_entropy(module(data[0]), data[1])


def test_right_gradients_pass():
    finding = replay(network(), cross_entropy, batch())
    assert finding.ok
    assert finding.error < finding.bound < 0.05
    assert finding.loss_device == pytest.approx(finding.loss_cpu, rel=1e-6)


@pytest.mark.parametrize("factor", [0.0, 0.9, 1.1, -1.0, 1e3, float("nan"), float("inf")])
def test_a_wrong_gradient_is_found_although_the_loss_is_right(factor):
    finding = replay(network(factor), cross_entropy, batch())
    assert not finding.ok
    # Only what lies before the fault gets a wrong gradient.
    assert set(finding.failed) <= {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert "0.weight" in finding.failed
    assert finding.loss_device == pytest.approx(finding.loss_cpu, rel=1e-6)
    assert "not the CPU's" in finding.sentence


def test_half_precision_passes_and_a_wrong_half_precision_gradient_does_not():
    def autocast(module, data):
        with torch.autocast("cpu", torch.bfloat16, enabled=module[0].weight is not_twin):
            return functional.cross_entropy(module(data[0]).float(), data[1])

    model = network()
    not_twin = model[0].weight
    right = replay(model, autocast, batch(), torch.bfloat16)
    assert right.ok
    assert 1e-4 < right.error < right.bound
    model = network(100.0)
    not_twin = model[0].weight
    assert not replay(model, autocast, batch(), torch.bfloat16).ok


def test_nothing_of_the_run_is_changed():
    model = network()
    cross_entropy(model, batch()).backward()
    before = copy.deepcopy(model.state_dict())
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    state = torch.get_rng_state()
    replay(model, cross_entropy, batch())
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(torch.equal(a, b.grad) for a, b in zip(gradients, model.parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())
    assert model[4].training


def test_frozen_and_unused_parameters_are_no_finding():
    model = network()
    model[0].weight.requires_grad_(False)
    # In the model, but not on the way to the loss.
    model[4].unused = nn.Parameter(torch.ones(3))
    finding = replay(model, cross_entropy, batch())
    assert finding.ok


def test_batches_may_be_dicts_of_whole_numbers():
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    tokens = {"tokens": torch.arange(40).view(4, 10) % 20}

    def next_token(module, data):
        return functional.cross_entropy(module(data["tokens"]).flatten(0, 1), data["tokens"].flatten())

    assert replay(model, next_token, tokens).ok


def test_a_gradient_that_is_zero_but_for_rounding_is_no_finding():
    exact = {"weight": torch.ones(100), "bias": torch.full((4,), 1e-9)}
    noisy = {"weight": torch.ones(100), "bias": torch.full((4,), -1e-9)}
    assert relative_errors(noisy, exact)["bias"] < 1e-6


def test_the_unit_grows_with_coarse_dtypes_and_long_sums():
    narrow, wide = nn.Linear(4, 4), nn.Linear(40_000, 4)
    assert unit_of(narrow, torch.bfloat16) > unit_of(narrow, torch.float16) > unit_of(narrow, torch.float32)
    assert unit_of(wide, torch.float32) > 50 * unit_of(narrow, torch.float32)


def test_a_gradient_that_rounding_changes_more_may_differ_more_and_none_has_a_bound_of_zero():
    bounds = bounds_of({"calm": 1e-6, "usual": 1e-5, "wild": 1e-3, "lucky": 0.0, "other": 1e-5}, 1)
    assert bounds["wild"] == pytest.approx(SAFETY * 1e-3, rel=1e-2)
    assert bounds["lucky"] == bounds["calm"] == bounds["usual"]
    assert bounds_of({"lucky": 0.0}, 10_000)["lucky"] > 0


def deep_network(fault=1.0):
    """Batch norm over few numbers, again and again, carries rounding errors far."""
    torch.manual_seed(5)
    layers = [layer for _ in range(20) for layer in (nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU())]
    return nn.Sequential(nn.Linear(8, 32), Faulty(fault), *layers, nn.Linear(32, 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_that_carries_rounding_far_passes_and_a_gross_fault_in_it_is_found(dtype):
    inputs, targets = torch.randn(8, 8, generator=torch.Generator().manual_seed(2)), torch.arange(8) % 5

    def loss_of(device_model):
        def loss(module, data):
            with torch.autocast("cpu", dtype, enabled=module is device_model and dtype != torch.float32):
                return functional.cross_entropy(module(data[0]).float(), data[1])

        return loss

    model = deep_network()
    right = replay(model, loss_of(model), (inputs, targets), dtype)
    assert right.ok, right.sentence
    if dtype == torch.bfloat16:
        # Far beyond the roundoff of bf16: most of it was carried here.
        assert right.bound > 20 * ROUNDOFF[dtype]
    model = deep_network(1e3)
    wrong = replay(model, loss_of(model), (inputs, targets), dtype)
    assert not wrong.ok
    assert "0.weight" in wrong.failed


def test_a_model_without_trained_parameters_is_an_error():
    with pytest.raises(ValueError, match="no parameter"):
        replay(nn.ReLU(), cross_entropy, batch())
