"""Which samples a rank works on: all ranks draw the same global batch and each takes its slice.

The order depends on the seed and the step alone, so one node and three see the same global batches, and a
run can go on at any step without having walked through those before it.
"""

import numpy as np

from training.data.dataset import Indices


def share(count: int, rank: int, world_size: int) -> slice:
    """The rank's part of `count` items: contiguous, and no two ranks differ by more than one item."""
    base, rest = divmod(count, world_size)
    begin = rank * base + min(rank, rest)
    return slice(begin, begin + base + (rank < rest))


class GlobalBatches:
    """The order of the training samples.

    Each pass over the data is a fresh permutation; a last batch that would be short is left out, because MPS
    has given wrong gradients when the shape of a batch changes (pytorch issue 177116).
    """

    def __init__(self, samples: int, global_batch: int, seed: int) -> None:
        """Fixes the order.

        Args:
            samples: Training samples of the data set.
            global_batch: Samples of one step over all ranks.
            seed: Of the job.

        Raises:
            ValueError: There are fewer samples than one batch needs.
        """
        if samples < global_batch:
            raise ValueError(f"{samples} samples do not fill one batch of {global_batch}")
        self._samples = samples
        self._global_batch = global_batch
        self._seed = seed
        self._steps_per_epoch = samples // global_batch
        self._epoch = -1
        self._order: Indices = np.empty(0, dtype=np.int64)

    def batch(self, step: int) -> Indices:
        """The sample numbers of the global batch of a step, counted from 0."""
        epoch, within = divmod(step, self._steps_per_epoch)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = np.random.default_rng([self._seed, epoch]).permutation(self._samples)
        return self._order[within * self._global_batch : (within + 1) * self._global_batch]
