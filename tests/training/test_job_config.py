from pathlib import Path

import pytest
import yaml

from training.config import bundled_jobs, check_world, fingerprint, load_job
from training.errors import InputError

DIGITS = {"model": {"name": "digits_cnn"}, "data": {"name": "digits"}}
GPT = {"model": {"name": "gpt"}, "data": {"name": "python_text"}}


def write(tmp_path: Path, content: object) -> str:
    path = tmp_path / "job.yml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


@pytest.mark.parametrize("job", bundled_jobs())
def test_bundled_jobs_are_valid(job: str) -> None:
    assert load_job(job).name == job


def test_a_job_that_says_little_takes_the_defaults_and_its_files_name(tmp_path: Path) -> None:
    config = load_job(write(tmp_path, DIGITS))
    assert (config.name, config.train.global_batch, config.distributed.backend) == ("job", 96, "unified")


def test_set_changes_one_value_and_leaves_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path, {**DIGITS, "train": {"steps": 50, "log_every": 5}})
    config = load_job(path, ["train.steps=70", "optimizer.lr=1e-2", "device=cpu"])
    assert (config.train.steps, config.train.log_every) == (70, 5)
    assert (config.optimizer.lr, config.device) == (0.01, "cpu")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ({**DIGITS, "train": {"stepps": 10}}, ["unknown key train.stepps", "Did you mean steps?"]),
        ({**DIGITS, "optimiser": {}}, ["unknown key optimiser", "Did you mean optimizer?"]),
        ({**DIGITS, "train": {"global_batch": 0}}, ["train.global_batch is 0", "at least 1", "such as 96"]),
        ({**DIGITS, "train": {"steps": "many"}}, ["train.steps is 'many' (str)", "a whole number"]),
        ({**DIGITS, "train": {"steps": True}}, ["train.steps is True (bool)", "a whole number"]),
        ({**DIGITS, "train": {"steps": 2.5}}, ["train.steps is 2.5 (float)", "a whole number"]),
        ({**DIGITS, "train": [1]}, ["train is [1]", "a mapping"]),
        ({**DIGITS, "optimizer": {"lr": float("nan")}}, ["optimizer.lr is nan", "finite"]),
        ({**DIGITS, "optimizer": {"lr": 1000.0}}, ["optimizer.lr is 1000.0", "at most 100"]),
        ({**DIGITS, "device": "tpu"}, ["device is 'tpu'", "auto, cpu, cuda, mps"]),
        (
            {**DIGITS, "model": {"name": "digits_cn"}},
            ["model.name is 'digits_cn'", "does not exist", "Did you mean digits_cnn?"],
        ),
        ({**DIGITS, "model": {"width": 3}}, ["model needs a `name`"]),
        ({"data": DIGITS["data"]}, ["model is missing"]),
        (
            {**GPT, "data": {"name": "python_text", "path": "/no/such/folder"}},
            ["data.path is /no/such/folder", "nothing is there", "a folder with .py files"],
        ),
        ({**GPT, "model": {"name": "gpt", "dim": 100, "heads": 3}}, ["model.dim 100", "model.heads 3"]),
        (
            {**GPT, "data": {"name": "python_text", "window": 100}},
            ["data.window 100 is longer than model.context 64"],
        ),
        ({**DIGITS, "model": {"name": "gpt"}}, ["model gpt reads text", "Use python_text"]),
        ({**GPT, "model": {"name": "digits_cnn"}}, ["reads images", "Use digits"]),
        (
            {**DIGITS, "train": {"steps": 5}, "schedule": {"warmup_steps": 9}},
            ["schedule.warmup_steps 9", "train.steps 5"],
        ),
        ([1, 2], ["must be a mapping"]),
        ("model: [digits", ["line 1, column 15", "not YAML"]),
    ],
)
def test_bad_jobs_are_refused_with_place_value_and_fix(tmp_path: Path, content: object, parts: list[str]) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        load_job(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("train.steps", "must be key=value"),
        ("=3", "must be key=value"),
        ("train.steps=[1", "not YAML"),
        ("seed.x=1", "seed is not a section"),
        ("train.stepps=1", "Did you mean steps?"),
    ],
)
def test_bad_overrides_are_refused(tmp_path: Path, override: str, part: str) -> None:
    path = write(tmp_path, {**DIGITS, "seed": 1})
    with pytest.raises(InputError, match="--set") as caught:
        load_job(path, [override])
    assert part in str(caught.value)


def test_a_job_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(InputError, match="Did you mean digits"):
        load_job("digit")
    with pytest.raises(InputError, match=r"missing\.yml: this job file does not exist"):
        load_job("missing.yml")


def test_fewer_samples_than_ranks_is_refused(tmp_path: Path) -> None:
    config = load_job(write(tmp_path, {**DIGITS, "train": {"global_batch": 2}}))
    check_world(config, 2)
    with pytest.raises(InputError, match="at least 3"):
        check_world(config, 3)


def test_the_fingerprint_tells_jobs_apart_but_not_devices(tmp_path: Path) -> None:
    path = write(tmp_path, DIGITS)
    base = fingerprint(load_job(path))
    assert fingerprint(load_job(path, ["device=cpu"])) == base
    assert fingerprint(load_job(path, ["seed=2"])) != base
