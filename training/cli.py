"""The command `espalier`. Reads and checks everything before torch is loaded or a rank is started."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training import __version__
from training.bench.sizes import DEFAULT_SIZES, parse_sizes
from training.config import bundled_jobs, check_world, load_job
from training.errors import EXIT_INTERRUPTED, EspalierError, InputError
from training.local_ranks import run_local
from training.node_config import NODE_CONFIG, load_node_config
from training.placement import Placement, on_the_ring
from training.schema import DistributedOptions
from training.tasks import BenchTask, Task, TrainTask


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status is that of docs/training.md."""
    words = list(sys.argv[1:] if argv is None else argv)
    # `train` and `bench` start on every node: they do not load what only the report needs.
    parser = build_parser(with_report=not words or words[0] not in {"train", "bench"})
    arguments = parser.parse_args(words)
    try:
        status: int = arguments.run(arguments)
        return status
    except EspalierError as error:
        print(f"espalier: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def build_parser(*, with_report: bool = True) -> argparse.ArgumentParser:
    """The parser with its commands."""
    parser = argparse.ArgumentParser(
        prog="espalier",
        description="Trains one PyTorch model on all the machines of the rack.",
        epilog="Exit status: 0 done; 2 bad input, nothing was started; 3 a rank or a cable failed; "
        "4 replicas differ or a number is not finite; 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"espalier {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_train(commands)
    _add_bench(commands)
    if with_report:
        importlib.import_module("training.report.cli").add_parser(commands)
    return parser


def _add_train(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="train a job on this node as one rank, or on several ranks of this machine",
        description=f"Trains a job. Bundled jobs: {', '.join(bundled_jobs())}.",
    )
    parser.add_argument("job", metavar="JOB", help="a YAML file, or the name of a bundled job")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change one value of the job, such as train.steps=100; can be repeated",
    )
    _add_where(parser)
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="where result.json and rank<k>.jsonl go (default: a new folder)",
    )
    parser.set_defaults(run=_train)


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser("bench", help="measure the fabric as the training sees it")
    benches = parser.add_subparsers(dest="bench", required=True, metavar="WHAT")
    allreduce = benches.add_parser("allreduce", help="the all-reduce by size")
    allreduce.add_argument("--sizes", default=DEFAULT_SIZES, help=f"sizes with commas (default: {DEFAULT_SIZES})")
    allreduce.add_argument(
        "--backend",
        default="unified",
        choices=["unified", "gloo"],
        help="the process group (default: unified)",
    )
    allreduce.add_argument(
        "--device", default="auto", choices=["auto", "mps", "cuda", "cpu"], help="where the tensors are"
    )
    _add_where(allreduce)
    allreduce.add_argument("--output", metavar="DIR", type=Path, required=True, help="where allreduce.json goes")
    allreduce.set_defaults(run=_bench)


def _add_where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where it runs")
    where.add_argument(
        "--node-config",
        metavar="FILE",
        type=Path,
        default=NODE_CONFIG,
        help=f"this node's place in the rack (default: {NODE_CONFIG})",
    )
    where.add_argument("--nodes", default="all", metavar="all|NAME,...", help="the nodes that take part (default: all)")
    where.add_argument(
        "--local-ranks",
        type=int,
        metavar="N",
        help="N ranks on this machine over the loopback; needs no rack",
    )


def _train(arguments: argparse.Namespace) -> int:
    config = load_job(arguments.job, arguments.overrides)
    place, runs_dir = _place(arguments)
    check_world(config, place.world_size if place else arguments.local_ranks)
    output = arguments.output or runs_dir / f"{config.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    _make_folder(output)
    return _start(arguments, place, TrainTask(config, output))


def _bench(arguments: argparse.Namespace) -> int:
    sizes = parse_sizes(arguments.sizes)
    place, _ = _place(arguments)
    _make_folder(arguments.output)
    task = BenchTask(
        tuple(sizes),
        arguments.output,
        device=arguments.device,
        options=DistributedOptions(backend=arguments.backend),
    )
    return _start(arguments, place, task)


def _place(arguments: argparse.Namespace) -> tuple[Placement | None, Path]:
    """This rank's place on the ring, or None for local ranks; and where runs keep their files."""
    if arguments.local_ranks is not None:
        if arguments.local_ranks < 1:
            raise InputError(f"--local-ranks {arguments.local_ranks}: must be at least 1.")
        if arguments.nodes != "all":
            raise InputError("--nodes and --local-ranks exclude each other: local ranks are all on this machine.")
        return None, Path("runs")
    node = load_node_config(arguments.node_config)
    return on_the_ring(node, arguments.nodes), node.runs_dir


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--output {path}: cannot be made: {error.strerror}. Choose another folder with --output."
        ) from error


def _start(arguments: argparse.Namespace, place: Placement | None, task: Task) -> int:
    if place is None:
        return run_local(arguments.local_ranks, task)
    return task.run(place)
