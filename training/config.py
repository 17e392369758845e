"""Reads a job: a YAML file or a bundled one, with `--set key=value` on top, checked before any start."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from training.errors import InputError
from training.schema import VARIANTS, GptOptions, JobConfig, PythonTextData
from training.validate import build, nearest

JOBS_DIR = Path(__file__).parent / "jobs"


def bundled_jobs() -> list[str]:
    """The names of the jobs that come with the package."""
    return sorted(path.stem for path in JOBS_DIR.glob("*.yml"))


def find_job(job: str) -> Path:
    """The file of a job given by path or by the name of a bundled one.

    Raises:
        InputError: Neither exists.
    """
    path = Path(job)
    if path.suffix in {".yml", ".yaml"} or "/" in job:
        if path.is_file():
            return path
        raise InputError(f"{job}: this job file does not exist. Bundled jobs: {', '.join(bundled_jobs())}.")
    if job in bundled_jobs():
        return JOBS_DIR / f"{job}.yml"
    raise InputError(f"{job}: no bundled job has this name. {nearest(job, bundled_jobs())}")


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        InputError: The file cannot be read or is not YAML; the message has the line.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(f"{path}:{where} is not YAML: {problem}. Correct the line or the one above.") from error


def load_job(job: str, overrides: Sequence[str] = ()) -> JobConfig:
    """The checked configuration of a job.

    Args:
        job: A path, or the name of a bundled job.
        overrides: `key=value` with a dotted key; the value is read as YAML.

    Raises:
        InputError: Any file, key or value that cannot be used.
    """
    path = find_job(job)
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: the file must be a mapping with at least `model` and `data`.")
    for override in overrides:
        _apply(content, override)
    source = f"{path} with --set {' '.join(overrides)}" if overrides else str(path)
    content.setdefault("name", path.stem)
    config: JobConfig = build(JobConfig, content, source=source, key="", variants=VARIANTS)
    _check_together(config, source)
    return config


def _apply(content: dict[str, Any], override: str) -> None:
    """Puts one `--set` into the plain YAML values, so that it is checked as if it stood in the file."""
    key, separator, text = override.partition("=")
    if not separator or not all(key.split(".")):
        raise InputError(f"--set {override}: must be key=value, such as train.steps=100.")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"--set {override}: the value is not YAML. Quote it.") from error
    *parents, last = key.split(".")
    section: Any = content
    for parent in parents:
        section = section.setdefault(parent, {})
        if not isinstance(section, dict):
            raise InputError(f"--set {override}: {parent} is not a section, so it has no key {last}.")
    section[last] = _number(value)


def _number(value: Any) -> Any:
    """YAML 1.1 reads `1e-3` as text; a person who types it means the number."""
    if isinstance(value, str) and "e" in value.lower():
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _check_together(config: JobConfig, source: str) -> None:
    """What one value alone cannot show."""
    model, data = config.model, config.data
    if isinstance(model, GptOptions):
        if model.dim % model.heads:
            raise InputError(
                f"{source}: model.dim {model.dim} is not divisible by model.heads {model.heads}. Change one."
            )
        if not isinstance(data, PythonTextData):
            raise InputError(f"{source}: model gpt reads text, but data.name is {data.name}. Use python_text.")
        if data.window > model.context:
            raise InputError(
                f"{source}: data.window {data.window} is longer than model.context {model.context}. "
                "Raise model.context."
            )
    elif isinstance(data, PythonTextData):
        raise InputError(f"{source}: model {model.name} reads images, but data.name is {data.name}. Use digits.")
    if config.schedule.warmup_steps > config.train.steps:
        raise InputError(
            f"{source}: schedule.warmup_steps {config.schedule.warmup_steps} is more than "
            f"train.steps {config.train.steps}. Lower the warm-up."
        )


def check_world(config: JobConfig, world_size: int) -> None:
    """Refuses a job that cannot be split over this many ranks.

    Raises:
        InputError: There are fewer samples in a batch than ranks.
    """
    if config.train.global_batch < world_size:
        raise InputError(
            f"{config.name}: train.global_batch {config.train.global_batch} is less than the {world_size} "
            f"ranks, so some would have nothing to do. Set it to at least {world_size}."
        )


def as_plain(config: JobConfig) -> Mapping[str, Any]:
    """The configuration as values that JSON can hold."""
    plain: Mapping[str, Any] = json.loads(json.dumps(dataclasses.asdict(config), default=str))
    return plain


def fingerprint(config: JobConfig) -> str:
    """A SHA-256 that two ranks share exactly when they run the same job.

    The device is left out: a Mac's GPU and a CPU may train together.
    """
    plain = {key: value for key, value in as_plain(config).items() if key != "device"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
