from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.data.digits import Digits, read_digits
from training.data.python_text import PythonText, text_files
from training.data.sharding import GlobalBatches, share
from training.errors import InputError
from training.schema import DigitsData, PythonTextData


@given(st.integers(0, 500), st.integers(1, 16))
def test_shares_cover_everything_once_and_evenly(count: int, world_size: int) -> None:
    parts = [share(count, rank, world_size) for rank in range(world_size)]
    assert [item for part in parts for item in range(count)[part]] == list(range(count))
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_an_epoch_has_every_sample_at_most_once_and_the_next_another_order() -> None:
    batches = GlobalBatches(samples=50, global_batch=8, seed=3)
    epoch = np.concatenate([batches.batch(step) for step in range(6)])
    following = np.concatenate([batches.batch(step) for step in range(6, 12)])
    assert len(set(epoch.tolist())) == 48
    assert epoch.tolist() != following.tolist()


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    walked = GlobalBatches(50, 8, 3)
    for step in range(20):
        walked.batch(step)
    assert walked.batch(7).tolist() == GlobalBatches(50, 8, 3).batch(7).tolist()
    assert walked.batch(7).tolist() != GlobalBatches(50, 8, 4).batch(7).tolist()


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="7 samples do not fill one batch of 8"):
        GlobalBatches(7, 8, 0)


def test_digits_are_split_without_overlap_and_alike_every_time() -> None:
    data, again = Digits(DigitsData()), Digits(DigitsData())
    assert (data.train_size, data.test_size) == (1438, 359)
    assert data.sha256 == again.sha256 != Digits(DigitsData(split_seed=1)).sha256
    images, targets = data.train_batch(np.arange(data.train_size))
    tests, test_targets = data.test_batch(np.arange(data.test_size))
    assert images.shape == (1438, 1, 8, 8)
    assert (float(images.min()), float(images.max())) == (0.0, 1.0)
    assert torch.bincount(torch.cat([targets, test_targets])).tolist() == [
        178, 182, 177, 183, 181, 182, 181, 179, 174, 180,
    ]  # fmt: skip
    assert len(tests) == 359


def test_digits_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits

    pixels, targets = read_digits()
    bunch = load_digits()
    assert np.array_equal(pixels, bunch.data)
    assert np.array_equal(targets, bunch.target)


def test_text_targets_are_the_inputs_one_byte_later(tmp_path: Path) -> None:
    text = bytes(range(32, 127)) * 30
    (tmp_path / "a.py").write_bytes(text)
    data = PythonText(PythonTextData(path=tmp_path, window=16, validation_fraction=0.1))
    inputs, targets = data.train_batch(np.array([0, 2]))
    assert bytes(inputs[1].tolist()) == text[32:48]
    assert bytes(targets[1].tolist()) == text[33:49]
    held_out, _ = data.test_batch(np.array([0]))
    begin = data.train_size * 16
    assert bytes(held_out[0].tolist()) == text[begin : begin + 16]


def test_text_files_come_in_one_order_without_caches_tests_and_mac_shadows(tmp_path: Path) -> None:
    for name in (
        "b/z.py",
        "a.py",
        "b/._z.py",
        "__pycache__/c.py",
        "test/d.py",
        "e.txt",
        "_sysconfigdata_x.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("pass\n")
    assert [path.relative_to(tmp_path).as_posix() for path in text_files(tmp_path)] == ["a.py", "b/z.py"]


def test_the_corpus_hash_changes_with_the_text(tmp_path: Path) -> None:
    options = PythonTextData(path=tmp_path, window=4, validation_fraction=0.1)
    (tmp_path / "a.py").write_text("x = 1\n" * 50)
    before = PythonText(options).sha256
    (tmp_path / "a.py").write_text("x = 2\n" * 50)
    assert PythonText(options).sha256 != before


def test_a_folder_without_enough_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0 bytes of Python text"):
        PythonText(PythonTextData(path=tmp_path))


def test_the_standard_library_is_there_and_is_cut_at_the_limit() -> None:
    data = PythonText(PythonTextData(max_mib=0.25, window=64))
    assert data.train_size + data.test_size == (262144 - 1) // 64
