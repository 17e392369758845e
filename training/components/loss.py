"""The loss, weighted so that a global batch gives the same gradient however it is cut into ranks."""

from torch import Tensor
from torch.nn import functional


def summed_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy summed over samples (and tokens).

    Args:
        scores: (batch, ..., classes), not normalised.
        targets: (batch, ...) of int64.
    """
    return functional.cross_entropy(scores.flatten(0, -2), targets.flatten(), reduction="sum")


def rank_loss(summed: Tensor, global_targets: int, world_size: int) -> Tensor:
    """This rank's loss such that the mean of all ranks' gradients is the gradient of the global mean.

    DistributedDataParallel averages over ranks without asking how many samples each had; dividing by the
    global count and multiplying by the ranks makes that average exact, uneven shares included.

    Args:
        summed: The summed loss of this rank's samples.
        global_targets: Targets of the global batch, over all ranks.
        world_size: Ranks.
    """
    return summed * (world_size / global_targets)
