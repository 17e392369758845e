"""Which device a rank computes on, and which versions of torch and macOS that takes."""

import os
import platform
import re

import torch

from training.errors import InputError

# The method names of a process group that this package implements were checked from 2.12 on.
LEAST_TORCH = (2, 12)
# Metal's bf16 and the shared storage of all tensors need macOS 14.
LEAST_MACOS = 14


def torch_version(text: str = torch.__version__) -> tuple[int, int]:
    """Major and minor version of torch."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def check_versions(device: str, world_size: int) -> None:
    """Refuses what is known to fail later or, worse, to give wrong numbers.

    Raises:
        InputError: torch or macOS is too old, or a harmful variable is set.
    """
    if torch_version() < LEAST_TORCH:
        raise InputError(
            f"torch {torch.__version__} is too old: Espalier needs {LEAST_TORCH[0]}.{LEAST_TORCH[1]} or "
            "later. Run ansible-playbook site.yml to install it."
        )
    if device != "mps":
        return
    macos = platform.mac_ver()[0]
    if macos and int(macos.split(".")[0]) < LEAST_MACOS:
        raise InputError(
            f"macOS {macos} is too old for mps: Espalier needs {LEAST_MACOS} or later. "
            "Update it, or add --set device=cpu."
        )
    if world_size > 1 and os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") == "1":
        raise InputError(
            "PYTORCH_ENABLE_MPS_FALLBACK=1 is set: it has let collectives fail without an error (pytorch "
            "issue 173808). Unset it."
        )


def choose_device(wanted: str, local_rank: int = 0) -> torch.device:
    """The device of a rank: mps, then cuda, then cpu, or the one asked for.

    Args:
        wanted: `auto`, `mps`, `cuda` or `cpu`.
        local_rank: The rank on this machine; several CUDA devices are shared out by it.

    Raises:
        InputError: The device asked for is not there.
    """
    available = {
        "mps": torch.backends.mps.is_available(),
        "cuda": torch.cuda.is_available(),
        "cpu": True,
    }
    if wanted != "auto" and not available[wanted]:
        present = ", ".join(name for name, there in available.items() if there)
        raise InputError(f"device is {wanted}, but this machine has only {present}. Use device: auto.")
    name = next(name for name in available if available[name]) if wanted == "auto" else wanted
    if name == "cuda":
        return torch.device("cuda", local_rank % torch.cuda.device_count())
    return torch.device(name)


def synchronize(device: torch.device) -> None:
    """Waits until the device has done everything asked of it, so that a clock tells the truth."""
    if device.type == "mps":
        torch.mps.synchronize()
    elif device.type == "cuda":
        torch.cuda.synchronize(device)
