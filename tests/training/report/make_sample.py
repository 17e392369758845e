"""Writes the sample of raw measurements: invented numbers, in the shape of real ones.

python tests/training/report/make_sample.py tests/training/report/sample
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

NODES = ["mac1", "mac2", "mac3"]


def _result(job: str, nodes: list[str], samples_s: float) -> dict[str, Any]:
    gpt = job == "gpt"
    steps, every, batch, first, last = (300, 25, 24, 5.57, 1.87) if gpt else (400, 40, 96, 2.31, 0.012)
    wobble = 0.002 * len(nodes)
    losses = [
        [step, round(last + (first - last) * math.exp(-step / 55) + wobble * (1 + math.sin(step)), 4)]
        for step in range(every, steps + 1, every)
    ]
    digest = hashlib.sha256(f"{job} {len(nodes)}".encode()).hexdigest()
    return {
        "job": job,
        "model": "gpt" if gpt else "digits_cnn",
        "dataset": "python_text" if gpt else "digits",
        "world_size": len(nodes),
        "nodes": nodes,
        "backend": "unified",
        "device": "cpu",
        "seconds": round(steps * batch / samples_s, 2),
        "steps": steps,
        "global_batch": batch,
        "samples": steps * batch,
        "samples_s": samples_s,
        "tokens_s": samples_s * 64 if gpt else None,
        "accuracy": None if gpt else (0.9861 if len(nodes) == 1 else 0.9889),
        "loss_first": first,
        "loss_last": losses[-1][1],
        "losses": losses,
        "parameters": 266_000 if gpt else 61_234,
        "parameters_sha256": dict.fromkeys(nodes, digest),
        "replicas_identical": True,
        "environment": {"torch": "2.13.0", "threads": 2, "command": f"espalier train {job}"},
    }


def sample() -> dict[str, Any]:
    """Content by file name."""
    chips = [("Mac16,11", "Apple M4 Pro"), ("Mac16,11", "Apple M4 Pro"), ("Mac16,9", "Apple M4 Max")]
    nodes = [{"name": "head", "role": "head", "model": None, "chip": None, "fabric_address": None}] + [
        {"name": name, "role": "mac", "model": model, "chip": chip, "fabric_address": f"10.77.0.{index}"}
        for index, (name, (model, chip)) in enumerate(zip(NODES, chips, strict=True), start=1)
    ]
    ends = [("mac1", 1, "mac2", 2), ("mac2", 1, "mac3", 2), ("mac3", 1, "mac1", 2)]
    cables = [dict(zip(("a", "a_port", "b", "b_port"), end, strict=True)) for end in ends]
    numbers = [(21.4, 20.9, 0.061), (14.2, 13.1, 0.058), (7.31, 7.92, 0.083)]
    measured = [
        {**cable, "gbit_s_ab": there, "gbit_s_ba": back, "rtt_ms": trip, "mtu": 9000, "error": None}
        for cable, (there, back, trip) in zip(cables, numbers, strict=True)
    ]
    results = []
    for power in range(12, 27, 2):
        count = 2**power
        seconds = 2.1e-4 + count / 0.9e9
        results.append(
            {
                "bytes": count,
                "seconds": seconds,
                "algbw_gb_s": count / seconds / 1e9,
                "busbw_gb_s": count / seconds / 1e9 * 4 / 3,
                "iterations": max(5, min(200, int(1 / seconds))),
            }
        )
    return {
        "rack.json": {"nodes": nodes, "cables": cables},
        "site.json": {"hosts": 4, "failed": 0, "seconds": 93.1, "second_run_changed": 0},
        "cables.json": measured,
        "allreduce.json": {"backend": "unified", "world_size": 3, "results": results},
        "environment.json": {
            "espalier": "0.1.0",
            "ansible_core": "2.19.14",
            "torch": "2.13.0",
            "python": "3.11.2",
            "shared_cores": 2,
            "commands": ["ansible-playbook site.yml", "ansible-playbook playbooks/benchmark.yml"],
        },
        "train/digits/one/result.json": _result("digits", NODES[:1], 5120.0),
        "train/digits/all/result.json": _result("digits", NODES, 4630.0),
        "train/gpt/one/result.json": _result("gpt", NODES[:1], 402.0),
        "train/gpt/all/result.json": _result("gpt", NODES, 371.0),
    }


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Writes each content to its file."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]), sample())
