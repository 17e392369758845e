import math

import pytest
import torch
from torch import nn

from training.guard.finite import count_nonfinite


def model_with_gradients(fill=1.0):
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, fill)
    return model


def test_finite_gradients_pass():
    finding = count_nonfinite(model_with_gradients())
    assert finding.ok
    assert finding.elements == 4 * 3 + 3 + 3 * 2 + 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_single_bad_number_is_found_and_named(value):
    model = model_with_gradients()
    model[1].bias.grad[1] = value
    finding = count_nonfinite(model)
    assert not finding.ok
    assert finding.counts == {"1.bias": 1}
    assert "1 of 23" in finding.sentence
    assert "1.bias (1)" in finding.sentence


def test_bad_numbers_are_counted_exactly():
    model = model_with_gradients()
    model[0].weight.grad[:, 0] = math.nan
    model[1].weight.grad[0, 0] = math.inf
    assert count_nonfinite(model).counts == {"0.weight": 3, "1.weight": 1}


def test_large_finite_numbers_are_no_finding():
    # Their sum and their L2 norm are infinite in fp32.
    assert count_nonfinite(model_with_gradients(3e38)).ok


def test_half_precision_and_missing_gradients():
    model = model_with_gradients().to(torch.bfloat16)
    model[0].weight.grad = None
    assert count_nonfinite(model).ok
    model[1].weight.grad[0, 0] = math.nan
    assert count_nonfinite(model).counts == {"1.weight": 1}


def test_parameters_are_counted_too():
    model = nn.Linear(2, 2)
    assert count_nonfinite(model, "parameters").ok
    with torch.no_grad():
        model.weight[0, 0] = math.inf
    assert count_nonfinite(model, "parameters").counts == {"weight": 1}
    assert count_nonfinite(model).ok


def test_an_empty_model_is_finite():
    assert count_nonfinite(nn.Sequential()).ok


def test_an_unknown_subject_is_an_error():
    with pytest.raises(ValueError, match="activations"):
        count_nonfinite(nn.Linear(1, 1), "activations")
