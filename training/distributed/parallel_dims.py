"""How the ranks are divided among the kinds of parallelism, and the mesh that follows.

An *axis* is a direction of the mesh of ranks; a *dim* is one of a tensor. The axes, from the slowest link to the
fastest, so that ranks which talk most are neighbours in rank order and thus by cable:

- pipeline: consecutive layers; one message a micro-batch;
- replicate: whole copies of what is below; gradients averaged once a step;
- shard: parameters cut over the ranks and gathered layer by layer;
- tensor: single matrices cut over the ranks; messages in every layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from training.errors import InputError

AXES = ("pipeline", "replicate", "shard", "tensor")


@dataclass(frozen=True)
class ParallelDims:
    """The ranks along each axis.

    Attributes:
        world_size: Ranks in all.
        pipeline: Stages.
        replicate: Copies.
        shard: Ranks that share one copy's parameters.
        tensor: Ranks that share one matrix.
    """

    world_size: int
    pipeline: int = 1
    replicate: int = 1
    shard: int = 1
    tensor: int = 1

    def __post_init__(self) -> None:
        """Checks the sizes.

        Raises:
            InputError: A size is below 1, or they do not multiply to the world size.
        """
        for axis, size in zip(AXES, self.shape, strict=True):
            if size < 1:
                raise InputError(f"parallel.{axis} is {size}, but must be at least 1.")
        product = math.prod(self.shape)
        if product != self.world_size:
            sizes = " x ".join(f"{axis} {size}" for axis, size in zip(AXES, self.shape, strict=True))
            raise InputError(
                f"parallel: {sizes} is {product} ranks, but there are {self.world_size}. "
                "Change the sizes so that they multiply to the number of ranks."
            )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The sizes in the order of `AXES`."""
        return self.pipeline, self.replicate, self.shard, self.tensor

    @property
    def data(self) -> int:
        """Ranks that work on different samples."""
        return self.replicate * self.shard

    def data_rank(self, rank: int) -> int:
        """Which slice of the global batch a rank works on; pipeline and tensor neighbours share one."""
        return rank // self.tensor % self.data

    def stage(self, rank: int) -> int:
        """Which stage of the pipeline a rank is."""
        return rank // (self.tensor * self.data)

    def mesh(self, device_type: str) -> DeviceMesh:
        """The mesh of all ranks, with the axes' names; every rank must call it."""
        return init_device_mesh(device_type, self.shape, mesh_dim_names=AXES)

    def check_layers(self, layers: int) -> None:
        """Refuses more stages than layers.

        Raises:
            InputError: There are.
        """
        if self.pipeline > layers:
            raise InputError(
                f"parallel.pipeline is {self.pipeline}, but the model has only {layers} layers. "
                "Lower it, or raise model.layers."
            )

    def check_heads(self, heads: int) -> None:
        """Refuses heads that cannot be shared out.

        Raises:
            InputError: The heads are not divisible by the tensor axis.
        """
        if heads % self.tensor:
            raise InputError(
                f"parallel.tensor is {self.tensor}, which does not divide the model's {heads} heads. "
                "Choose a divisor of model.heads."
            )
