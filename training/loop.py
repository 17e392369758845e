"""The training loop: the same on one rank and on many, on a CPU and on a GPU."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from training.components.loss import rank_loss, summed_loss
from training.components.optimizer import build_optimizer
from training.components.progress import MetricsFile, Progress, build_progress
from training.components.schedule import learning_rate
from training.config import fingerprint
from training.data import build_dataset
from training.data.dataset import Dataset, Indices
from training.data.sharding import GlobalBatches, share
from training.device import check_versions, choose_device, synchronize
from training.distributed.ddp import bare, replicate
from training.errors import InputError, ReplicaError
from training.launch import same_everywhere
from training.models import build_model
from training.result import Result, environment, parameters_sha256
from training.schema import JobConfig
from training.seeds import seed_everything
from training.session import Session

# Test samples are evaluated in portions of this many a rank, so that activations stay small.
TEST_PORTION = 256


class Trainer:
    """One rank's part of a run."""

    def __init__(self, config: JobConfig, session: Session, output: Path) -> None:
        """Builds data, model and optimiser, and compares with the other ranks what must be the same.

        Args:
            config: The job.
            session: The connected ranks.
            output: Where `rank<k>.jsonl` and, on the first rank, `result.json` go.

        Raises:
            InputError: Device, versions or data do not fit, or the ranks disagree on the job or its data.
        """
        place = session.place
        self.config, self.place, self.output = config, place, output
        self.device = choose_device(config.device, place.local_rank)
        check_versions(self.device.type, place.world_size)
        seed_everything(config.seed)
        self.data: Dataset = build_dataset(config.data)
        same_everywhere(
            session.store,
            place,
            "the job",
            fingerprint(config),
            "Start the same job with the same --set everywhere.",
            config.distributed.timeout_s,
        )
        same_everywhere(
            session.store,
            place,
            f"the data set {self.data.name}",
            self.data.sha256,
            "Use the same version of Python and of the packages on all nodes: ansible-playbook site.yml.",
            config.distributed.timeout_s,
        )
        if self.data.train_size < config.train.global_batch:
            raise InputError(
                f"{config.name}: train.global_batch {config.train.global_batch} is more than the "
                f"{self.data.train_size} training samples of {self.data.name}. Lower it."
            )
        self.batches = GlobalBatches(self.data.train_size, config.train.global_batch, config.seed)
        self.mine = share(config.train.global_batch, place.rank, place.world_size)
        self.model = replicate(build_model(config.model), self.device, config.distributed.bucket_mib)
        self.optimizer = build_optimizer(config.optimizer, self.model.parameters())

    def run(self) -> None:
        """Trains, evaluates, compares the replicas and writes the result.

        Raises:
            ReplicaError: A loss is not finite, or the replicas differ at the end.
        """
        config = self.config
        metrics = MetricsFile(self.output, self.place.rank)
        progress = build_progress(config.name, config.train.steps, self.place.rank)
        try:
            losses, seconds = self._train(metrics, progress)
            accuracy, test_loss = self._evaluate()
            metrics.write({"event": "test", "loss": test_loss, "accuracy": accuracy})
            result = self._result(losses, seconds, accuracy, test_loss)
            progress.report(
                {
                    "event": "done",
                    "loss": result.loss_last,
                    "accuracy": result.accuracy,
                    "test_loss": test_loss,
                    "samples_s": result.samples_s,
                    "tokens_s": result.tokens_s,
                    "seconds": result.seconds,
                    "replicas_identical": result.replicas_identical,
                }
            )
        finally:
            progress.close()
            metrics.close()
        if self.place.rank == 0:
            result.write(self.output)
        if not result.replicas_identical:
            raise ReplicaError(_who_differs(result.parameters_sha256))

    def _train(self, metrics: MetricsFile, progress: Progress) -> tuple[list[tuple[int, float]], float]:
        """All steps; the mean loss of each logging interval, and the seconds they took in all."""
        options = self.config.train
        losses: list[tuple[int, float]] = []
        interval_loss = torch.zeros((), device=self.device)
        interval_steps = 0
        self.model.train()
        dist.barrier()
        begin = interval_begin = time.perf_counter()
        for step in range(options.steps):
            loss, grad_norm = self._step(step)
            interval_loss += loss
            interval_steps += 1
            progress.step()
            done = step + 1
            if done == 1 or done % options.log_every == 0 or done == options.steps:
                mean = self._mean_over_ranks(interval_loss / interval_steps)
                now = time.perf_counter()
                losses.append((done, mean))
                values = {
                    "step": done,
                    "loss": round(mean, 6),
                    "lr": self.optimizer.param_groups[0]["lr"],
                    "grad_norm": round(float(grad_norm), 6),
                    "samples_s": round(interval_steps * options.global_batch / (now - interval_begin), 1),
                    "elapsed_s": round(now - begin, 3),
                }
                metrics.write(values)
                progress.report(values)
                if not math.isfinite(mean):
                    raise ReplicaError(
                        f"the loss is {mean} at step {done}: the numbers are not finite. Lower "
                        "optimizer.lr, or set train.clip_norm."
                    )
                interval_loss.zero_()
                interval_steps, interval_begin = 0, now
        synchronize(self.device)
        dist.barrier()
        return losses, time.perf_counter() - begin

    def _step(self, step: int) -> tuple[Tensor, Tensor]:
        """One optimiser step; this rank's part of the mean loss, times the ranks; the gradient norm."""
        options = self.config.train
        inputs, targets = self.data.train_batch(self.batches.batch(step)[self.mine])
        inputs, targets = inputs.to(self.device), targets.to(self.device)
        targets_a_sample = targets[0].numel()
        loss = rank_loss(
            summed_loss(self.model(inputs), targets),
            options.global_batch * targets_a_sample,
            self.place.world_size,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.config.schedule, self.config.optimizer.lr, step, options.steps)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        # Gradients are averaged by now, so every rank clips by the same norm.
        limit = options.clip_norm or math.inf
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        self.optimizer.step()
        return loss.detach(), norm

    def _mean_over_ranks(self, value: Tensor) -> float:
        total = value.detach().cpu()
        dist.all_reduce(total)
        return float(total) / self.place.world_size

    @torch.no_grad()
    def _evaluate(self) -> tuple[float | None, float]:
        """Accuracy (for classes, else None) and mean loss over the test part, each rank on its slice."""
        model = bare(self.model)
        model.eval()
        mine = np.arange(self.data.test_size, dtype=np.int64)[
            share(self.data.test_size, self.place.rank, self.place.world_size)
        ]
        sums = torch.zeros(3, dtype=torch.float64)
        for portion in _portions(mine):
            inputs, targets = self.data.test_batch(portion)
            targets = targets.to(self.device)
            scores = model(inputs.to(self.device))
            right = (scores.argmax(dim=-1) == targets).sum()
            sums += torch.tensor([float(right), float(summed_loss(scores, targets)), float(targets.numel())])
        dist.all_reduce(sums)
        right_count, loss, count = sums.tolist()
        classifies = self.data.tokens_per_sample is None
        return (right_count / count if classifies else None), loss / count

    def _result(
        self, losses: list[tuple[int, float]], seconds: float, accuracy: float | None, test_loss: float
    ) -> Result:
        config, place = self.config, self.place
        model = bare(self.model)
        hashes: list[Any] = [None] * place.world_size
        dist.all_gather_object(hashes, parameters_sha256(model))
        samples = config.train.steps * config.train.global_batch
        tokens = self.data.tokens_per_sample
        return Result(
            job=config.name,
            model=config.model.name,
            dataset=config.data.name,
            world_size=place.world_size,
            nodes=list(place.names),
            backend=config.distributed.backend,
            device=self.device.type,
            seconds=seconds,
            steps=config.train.steps,
            global_batch=config.train.global_batch,
            samples=samples,
            samples_s=samples / seconds,
            tokens_s=None if tokens is None else samples * tokens / seconds,
            accuracy=accuracy,
            loss_first=losses[0][1],
            loss_last=losses[-1][1],
            losses=losses,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            parameters_sha256=dict(zip(place.names, hashes, strict=True)),
            replicas_identical=len(set(hashes)) == 1,
            environment=environment(data_sha256=self.data.sha256, test_loss=test_loss),
        )


def _portions(indices: Indices) -> list[Indices]:
    return [indices[begin : begin + TEST_PORTION] for begin in range(0, len(indices), TEST_PORTION)]


def _who_differs(hashes: dict[str, str]) -> str:
    """The sentence that names the nodes whose parameters are not those of the majority."""
    values = list(hashes.values())
    common = max(set(values), key=values.count)
    odd = [node for node, value in hashes.items() if value != common]
    return (
        f"the replicas differ after the last step: {', '.join(odd)} is not like the others. The result must "
        "not be used. Run again with --set device=cpu to see whether the device is at fault."
    )
