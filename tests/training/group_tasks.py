"""What the ranks of the pool do in the tests of the process group. Imported in the rank's own process."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from training.distributed.fabric_view import FabricView
from training.distributed.host_memory import HostMemory, Way
from training.distributed.unified import register


class LateEvent:
    """A device that is behind by a few queries."""

    def __init__(self) -> None:
        self._left = 20

    def query(self) -> bool:
        self._left -= 1
        return self._left < 0


touched: list[int] = []


def _view(tensor: Tensor) -> Tensor:
    return tensor.view(tensor.shape)


def _stage(self: HostMemory, tensor: Tensor, *, copy: bool) -> Tensor:
    touched.append(threading.get_ident())
    buffer = torch.full_like(tensor, -77)
    if copy:
        buffer.copy_(tensor)
    return buffer


def _unstage(self: HostMemory, buffer: Tensor) -> None:
    # Whoever still reads a buffer that was given back shall notice.
    buffer.fill_(88)


class StagingMemory(HostMemory):
    stage = _stage
    unstage = _unstage


@functools.cache
def group(way: str) -> Any:
    """A group of all ranks in which every tensor goes the given way; `gloo` is torch's own."""
    if way == "gloo":
        return dist.new_group(backend="gloo")
    memory = StagingMemory(way=lambda _: Way(way), view=_view, record=LateEvent)
    register(FabricView("127.0.0.1"), memory=memory)
    return dist.new_group(backend="unified")


def _filled(count: int, rank: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return ((torch.arange(count) * 7 + rank * 13) % 31).to(dtype)


def _all_reduce(pg: Any, rank: int, size: int) -> list[Tensor]:
    results = []
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.uint8):
        tensor = _filled(100, rank, dtype)
        dist.all_reduce(tensor, group=pg)
        results.append(tensor)
    for op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT, dist.ReduceOp.AVG):
        tensor = _filled(9, rank)
        dist.all_reduce(tensor, op=op, group=pg)
        results.append(tensor)
    return results


def _many_at_once(pg: Any, rank: int, size: int) -> list[Tensor]:
    tensors = [_filled(5 + number, rank) for number in range(20)]
    works = [dist.all_reduce(tensor, group=pg, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    return tensors


def _coalesced(pg: Any, rank: int, size: int) -> list[Tensor]:
    tensors = [_filled(5, rank), _filled(7, rank)]
    pg.allreduce_coalesced(tensors, dist.AllreduceCoalescedOptions()).wait()
    return tensors


def _broadcast(pg: Any, rank: int, size: int) -> list[Tensor]:
    tensor = _filled(6, rank)
    dist.broadcast(tensor, src=1, group=pg)
    return [tensor]


def _reduce(pg: Any, rank: int, size: int) -> list[Tensor]:
    tensor = _filled(6, rank)
    dist.reduce(tensor, dst=2, group=pg)
    return [tensor] if rank == 2 else []


def _all_gather(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = [torch.zeros(4) for _ in range(size)]
    dist.all_gather(out, _filled(4, rank), group=pg)
    return out


def _all_gather_single(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = torch.zeros(size * 4)
    dist.all_gather_into_tensor(out, _filled(4, rank), group=pg)
    return [out]


def _reduce_scatter(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = torch.zeros(2, 2)
    dist.reduce_scatter(out, [_filled(4, rank + part).view(2, 2) for part in range(size)], group=pg)
    return [out]


def _reduce_scatter_single(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = torch.zeros(2)
    dist.reduce_scatter_tensor(out, _filled(2 * size, rank), group=pg)
    return [out]


def _scatter(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = torch.zeros(3)
    dist.scatter(out, [_filled(3, part) for part in range(size)] if rank == 1 else None, src=1, group=pg)
    return [out]


def _gather(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = [torch.zeros(3) for _ in range(size)] if rank == 2 else None
    dist.gather(_filled(3, rank), out, dst=2, group=pg)
    return out or []


def _all_to_all_single(pg: Any, rank: int, size: int) -> list[Tensor]:
    # Rank r sends r + part + 1 numbers to rank `part`.
    sent = [rank + part + 1 for part in range(size)]
    out = torch.zeros(sum(sent))
    dist.all_to_all_single(out, _filled(sum(sent), rank), sent, sent, group=pg)
    return [out]


def _send_receive(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = torch.zeros(5)
    if rank == 0:
        dist.send(_filled(5, rank), dst=1, group=pg, tag=3)
        dist.recv(out, src=2, group=pg)
    elif rank == 1:
        dist.recv(out, src=0, group=pg, tag=3)
        dist.send(out + 1, dst=2, group=pg)
    else:
        source = dist.recv(out, group=pg)
        dist.send(out + 1, dst=0, group=pg)
        out = torch.cat([out, torch.tensor([float(source)])])
    return [out]


def _batched(pg: Any, rank: int, size: int) -> list[Tensor]:
    out = torch.zeros(4)
    operations = [
        dist.P2POp(dist.isend, _filled(4, rank), (rank + 1) % size, group=pg),
        dist.P2POp(dist.irecv, out, (rank - 1) % size, group=pg),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return [out]


def _objects(pg: Any, rank: int, size: int) -> list[Tensor]:
    everything: list[Any] = [None] * size
    dist.all_gather_object(everything, {"rank": rank, "text": "x" * rank}, group=pg)
    assert everything == [{"rank": other, "text": "x" * other} for other in range(size)]
    shared = [{"from": rank}]
    dist.broadcast_object_list(shared, src=2, group=pg)
    assert shared == [{"from": 2}]
    return []


def _barrier(pg: Any, rank: int, size: int) -> list[Tensor]:
    dist.barrier(group=pg)
    return []


COLLECTIVES: dict[str, Callable[[Any, int, int], list[Tensor]]] = {
    function.__name__.lstrip("_"): function
    for function in (
        _all_reduce,
        _many_at_once,
        _coalesced,
        _broadcast,
        _reduce,
        _all_gather,
        _all_gather_single,
        _reduce_scatter,
        _reduce_scatter_single,
        _scatter,
        _gather,
        _all_to_all_single,
        _send_receive,
        _batched,
        _objects,
        _barrier,
    )
}
# gloo has these under no name, so their answer is written down here.
UNKNOWN_TO_GLOO = ("all_to_all", "all_gather_coalesced", "old_names")


def compare(way: str) -> dict[str, bool]:
    """For each collective, whether this rank got from `unified` what it got from gloo, to the last bit."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ours, theirs = group(way), group("gloo")
    equal = {}
    for name, collective in COLLECTIVES.items():
        mine, expected = collective(ours, rank, size), collective(theirs, rank, size)
        equal[name] = len(mine) == len(expected) and all(map(torch.equal, mine, expected))
    return equal


def beyond_gloo(way: str) -> dict[str, bool]:
    """The calls that gloo's own group lacks, against their definition."""
    rank, size, pg = dist.get_rank(), dist.get_world_size(), group(way)
    equal = {}
    out = [torch.zeros(part + 1) for part in range(size)]
    dist.all_to_all(out, [torch.full((rank + 1,), float(10 * rank + part)) for part in range(size)], group=pg)
    equal["all_to_all"] = all(bool((item == 10 * part + rank).all()) for part, item in enumerate(out))
    rows = [[torch.zeros(2), torch.zeros(3)] for _ in range(size)]
    pg.allgather_coalesced(rows, [torch.full((2,), float(rank)), torch.full((3,), float(-rank))]).wait()
    equal["all_gather_coalesced"] = all(
        bool((row[0] == part).all() and (row[1] == -part).all()) for part, row in enumerate(rows)
    )
    gathered, scattered = torch.zeros(size), torch.zeros(1)
    pg._allgather_base(gathered, torch.tensor([float(rank)])).wait()
    pg._reduce_scatter_base(scattered, torch.arange(float(size))).wait()
    equal["old_names"] = gathered.tolist() == [0.0, 1.0, 2.0] and scattered.item() == size * rank
    return equal


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))


def _train(model: nn.Module, rows: slice, scale: float) -> nn.Module:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    for _ in range(5):
        inputs, targets = torch.randn(12, 8)[rows], torch.randn(12, 4)[rows]
        loss = (model(inputs) - targets).square().sum() / 48 * scale
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def _rows() -> slice:
    rank = dist.get_rank()
    return slice(rank * 4, rank * 4 + 4)


def ddp(way: str, bucket_view: bool) -> float:
    """Largest difference of the parameters to one process on the whole batch."""
    # Buckets of a hundredth of a MiB, so that several are in flight.
    wrapped = DistributedDataParallel(
        _model(), process_group=group(way), bucket_cap_mb=0.01, gradient_as_bucket_view=bucket_view
    )
    mine = _train(wrapped, _rows(), dist.get_world_size())
    alone = _train(_model(), slice(None), 1.0)
    pairs = zip(mine.parameters(), alone.parameters(), strict=True)
    return max(float((ours - theirs).abs().max()) for ours, theirs in pairs)


def fsdp() -> float:
    """The same for FSDP2 over the default group."""
    model = _model()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    _train(model, _rows(), dist.get_world_size())
    alone = _train(_model(), slice(None), 1.0)
    pairs = zip(model.parameters(), alone.parameters(), strict=True)
    return max(float((ours.full_tensor() - theirs).abs().max()) for ours, theirs in pairs)


def staged_threads() -> bool:
    """Whether staging touched tensors from the caller's thread alone, a backward pass included."""
    touched.clear()
    ddp("staged", True)
    return bool(touched) and set(touched) == {threading.get_ident()}


def future_does_not_block() -> tuple[bool, bool]:
    """Whether a future came back while a peer had not even started; whether it holds the sum in the end."""
    pg, rank = group("alias"), dist.get_rank()
    tensor = torch.ones(3)
    dist.barrier()
    pending = True
    if rank == 0:
        future = dist.all_reduce(tensor, group=pg, async_op=True).get_future()
        # The others start only after this barrier, which is on another group.
        pending = not future.done()
        dist.barrier()
    else:
        dist.barrier()
        future = dist.all_reduce(tensor, group=pg, async_op=True).get_future()
    value = future.wait()
    return pending, torch.equal(value[0], torch.full((3,), 3.0))


def subgroup() -> float:
    """A group of ranks 0 and 2 in a ring of three."""
    pg = dist.new_group([0, 2])
    tensor = torch.tensor([float(dist.get_rank() + 1)])
    if dist.get_rank() != 1:
        dist.all_reduce(tensor, group=pg)
        dist.destroy_process_group(pg)
    return float(tensor)


def missing_rank() -> str:
    """The message when rank 2 never comes to a collective, with cables known."""
    from datetime import timedelta

    from training.distributed.roll_call import RollCall

    rank, size = dist.get_rank(), dist.get_world_size()
    view = FabricView("127.0.0.1", ["mac1", "mac2", "mac3"], cables={"mac3": ["port 2 to mac3 port 1"]})
    store = dist.PrefixStore("test-roll-call", dist.distributed_c10d._get_default_store())
    register(view, RollCall(store, rank, size))
    pg = dist.new_group(backend="unified", timeout=timedelta(seconds=1))
    message = ""
    if rank != 2:
        try:
            dist.all_reduce(torch.ones(10), group=pg)
        except RuntimeError as error:
            message = str(error)
    dist.barrier()
    return message


def backward_without_a_peer(way: str) -> str:
    """The error of a backward pass in which rank 2 does not take part."""
    from datetime import timedelta

    rank = dist.get_rank()
    memory = StagingMemory(way=lambda _: Way(way), view=_view, record=LateEvent)
    register(FabricView("127.0.0.1"), memory=memory)
    pg = dist.new_group(backend="unified", timeout=timedelta(seconds=2))
    model = DistributedDataParallel(_model(), process_group=pg, bucket_cap_mb=0.01)
    message = ""
    if rank != 2:
        try:
            model(torch.ones(1, 8)).sum().backward()
        except RuntimeError as error:
            message = str(error)
    dist.barrier()
    return message


def buffers_are_used_again() -> tuple[bool, bool, int]:
    """Of the staging buffers: same memory for the same shape, other for another, and none beyond the limit."""
    from training.distributed.host_memory import StagingBuffers

    buffers = StagingBuffers(most_bytes=100)
    first = buffers.take(torch.zeros(5, 2))
    address = first.data_ptr()
    buffers.give(first)
    other = buffers.take(torch.zeros(10))
    again = buffers.take(torch.zeros(5, 2))
    same = again.data_ptr() == address
    buffers.give(again)
    buffers.give(other)
    buffers.give(torch.zeros(20))
    return same, other.data_ptr() != address, buffers._idle_bytes
