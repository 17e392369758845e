from dataclasses import replace

import pytest
import torch
from torch import nn

from training.errors import InputError
from training.guard.known_bad import KNOWN_BAD, Setup, check, found, setup_of

MAC = Setup(device="mps", torch=(2, 13), world_size=2)
FALLBACK = {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}

# The row, settings that meet it, and one change that does not.
MEET = [
    ("fallback", replace(MAC, torch=(2, 10), environment=FALLBACK), {"torch": (2, 11)}),
    ("fallback", replace(MAC, torch=(2, 10), environment=FALLBACK), {"world_size": 1}),
    ("channels_last batch norm", replace(MAC, channels_last=True, batch_norm=True), {"batch_norm": False}),
    ("channels_last batch norm", replace(MAC, channels_last=True, batch_norm=True), {"channels_last": False}),
    ("non_blocking copies", replace(MAC, non_blocking=True), {"non_blocking": False}),
    ("rows of changing batches", replace(MAC, rows=32_001, fixed_shapes=False), {"rows": 32_000}),
    ("rows", replace(MAC, rows=32_001), {"rows": 32_000}),
    ("large product", replace(MAC, product_elements=2**32 + 1), {"product_elements": 2**32}),
    ("many classes", replace(MAC, classes=50_257), {"classes": 10_000}),
    ("two threads", replace(MAC, device_threads=2), {"device_threads": 1}),
    (
        "scaler with half parameters",
        replace(MAC, torch=(2, 12), grad_scaler=True, half_parameters=True),
        {"torch": (2, 13)},
    ),
    ("grouped queries", replace(MAC, torch=(2, 9), grouped_queries=True), {"torch": (2, 11)}),
    ("grouped queries", replace(MAC, torch=(2, 8), grouped_queries=True), {"torch": (2, 7)}),
]


@pytest.mark.parametrize(("name", "setup", "change"), MEET)
def test_a_row_is_met_by_its_settings_alone(name, setup, change):
    assert name in [row.name for row in found(setup)]
    assert name not in [row.name for row in found(replace(setup, **change))]
    assert found(replace(setup, device="cpu")) == []
    assert found(replace(setup, device="cuda")) == []


def test_every_row_is_tested():
    assert {name for name, _, _ in MEET} == {row.name for row in KNOWN_BAD}


def test_an_ordinary_run_on_a_mac_is_let_through():
    assert check(MAC) == []


def test_the_refusal_names_value_issue_and_remedy_of_all_rows():
    with pytest.raises(InputError) as caught:
        check(replace(MAC, rows=40_000, fixed_shapes=False, non_blocking=True))
    message = str(caught.value)
    for text in ("40000 rows", "177116", "Drop the short last batch", "non_blocking=True", "83015"):
        assert text in message


def test_what_only_may_go_wrong_is_said_and_not_refused():
    (sentence,) = check(replace(MAC, classes=50_257))
    assert "50257 classes" in sentence
    assert "153957" in sentence


def test_the_model_tells_what_it_is_made_of():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 60_000))
    plain = setup_of(model, "mps", 2)
    assert (plain.batch_norm, plain.channels_last, plain.classes) == (True, False, 60_000)
    last = setup_of(model.to(memory_format=torch.channels_last), "mps", 2)
    assert last.channels_last
    with pytest.raises(InputError, match="175189"):
        check(last)


def test_1x1_kernels_are_not_taken_for_channels_last():
    assert not setup_of(nn.Conv2d(3, 8, 1), "mps").channels_last


def test_half_parameters_are_seen_and_settings_are_added():
    setup = setup_of(nn.Linear(2, 2).to(torch.bfloat16), "mps", grad_scaler=True, rows=5)
    assert (setup.half_parameters, setup.grad_scaler, setup.rows) == (True, True, 5)


def test_the_environment_is_that_of_the_process(monkeypatch):
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    assert setup_of(nn.Linear(1, 1), "mps").environment["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"


def test_a_setting_that_does_not_exist_is_an_error():
    with pytest.raises(TypeError, match="chanels_last"):
        setup_of(nn.Linear(1, 1), "mps", chanels_last=True)
