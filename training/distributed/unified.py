"""The process group `unified`: gloo, also for tensors of a device that gloo cannot read.

torch.distributed has no kernels for MPS tensors. A subclass of ProcessGroup is called without the dispatcher
in between, so it can take any tensor, bring its bytes to the host (`host_memory`), and let gloo do the rest
over the one fabric address of this node. Register it with `register`, then name it: backend="unified".

torch renamed several methods in 2.13 (`_allgather_base` to `all_gather_single` and so on); both names
are here, because each torch calls only its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ProcessGroupGloo,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    Store,
    Work,
)

from training.distributed.cuda_copies import CudaCopies
from training.distributed.diagnosis import diagnose
from training.distributed.fabric_view import FabricView
from training.distributed.host_memory import DEFAULT, HostMemory, ReadyEvent, Way, wait_for
from training.distributed.roll_call import RollCall
from training.distributed.work import DirectWork, LaunchedWork, StagedWork

BACKEND = "unified"
DEVICES = ("cpu", "mps", "cuda")
# gloo's own default; one thread per collective in flight.
GLOO_THREADS = 2

Host = Callable[[Tensor], Tensor]


class CollectiveError(RuntimeError):
    """A collective failed. A RuntimeError, because torch's own callers expect one."""


class UnifiedProcessGroup(dist.ProcessGroup):
    """All collectives and point-to-point calls over gloo, for host, MPS and CUDA tensors.

    Every method returns a work handle at once; `wait()` on it raises a CollectiveError that names this rank,
    the collective, the peer and its cables. Shapes, dtypes and semantics are those of torch.distributed.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        timeout: timedelta,
        *,
        view: FabricView,
        global_ranks: Sequence[int] = (),
        roll_call: RollCall | None = None,
        memory: HostMemory = DEFAULT,
    ) -> None:
        """Connects to the other ranks of the group.

        Args:
            store: The group's own store.
            rank: This rank in the group.
            size: Ranks in the group.
            timeout: After which a collective without answer fails.
            view: Names, addresses and cables of the world's ranks.
            global_ranks: The world rank of each rank of the group; empty when the group is the world.
            roll_call: Asks the ranks of the world after a failure; None asks nobody.
            memory: How tensors reach the host.

        Raises:
            RuntimeError: gloo could not connect to every rank in time.
        """
        super().__init__(rank, size)  # type: ignore[call-arg]
        self._rank, self._size = rank, size
        self._view, self._roll_call, self._memory = view, roll_call, memory
        self._global_ranks = list(global_ranks) or list(range(size))
        self._timeout = timeout
        self._name, self._description = "", ""
        self._calls = 0
        self._queued = 0
        self._lock = threading.Lock()
        self._launcher: ThreadPoolExecutor | None = None
        # Any: torch's stub of this class leaves out its options and all collectives.
        gloo: Any = ProcessGroupGloo
        options = gloo._Options()
        if view.address:
            options._devices = [gloo.create_device(hostname=view.address)]
        else:
            options._devices = [gloo.create_default_device()]
        options._threads = GLOO_THREADS
        options._timeout = timeout
        self._gloo = gloo(store, rank, size, options)

    # What torch asks about the group itself. Its C++ side calls these names.

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """The backend's name."""
        return BACKEND

    def getRank(self) -> int:  # noqa: N802 - torch's name
        """This rank in the group."""
        return self._rank

    def getSize(self) -> int:  # noqa: N802 - torch's name
        """Ranks in the group."""
        return self._size

    def setGroupName(self, name: str) -> None:  # noqa: N802 - torch's name
        """Sets the name by which torch finds the group again."""
        self._name = name

    def getGroupName(self) -> str:  # noqa: N802 - torch's name
        """The name by which torch finds the group again."""
        return self._name

    def setGroupDesc(self, description: str) -> None:  # noqa: N802 - torch's name
        """Sets the description."""
        self._description = description

    def getGroupDesc(self) -> str:  # noqa: N802 - torch's name
        """The description."""
        return self._description

    _set_group_name = setGroupName
    _set_group_desc = setGroupDesc  # type: ignore[assignment]

    @property
    def group_name(self) -> str:  # type: ignore[override]
        """The name by which torch finds the group again."""
        return self._name

    @property
    def group_desc(self) -> str:
        """The description."""
        return self._description

    def set_timeout(self, timeout: timedelta) -> None:
        """Changes the timeout of the collectives that start from now on."""
        self._timeout = timeout
        self._gloo._set_default_timeout(timeout)

    def supports_coalescing(self) -> bool:
        """No: torch then issues calls one by one."""
        return False

    # torch's stub also knows forms with a lone tensor, which nothing in torch.distributed calls; hence the
    # ignored overrides.
    # Collectives: `reads` are brought to the host, `writes` are brought back.

    def allreduce(self, tensors: list[Tensor], opts: Any = None) -> Work:  # type: ignore[override]
        """Reduces each tensor over the ranks, in place."""
        opts = opts or AllreduceOptions()
        return self._run(
            "all_reduce", lambda host: [self._gloo.allreduce(_each(host, tensors), opts)], tensors, tensors
        )

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = None) -> Work:
        """Reduces several tensors in one call, in place."""
        opts = opts or AllreduceCoalescedOptions()
        return self._run(
            "all_reduce_coalesced",
            lambda host: [self._gloo.allreduce_coalesced(_each(host, tensors), opts)],
            tensors,
            tensors,
        )

    def broadcast(self, tensors: list[Tensor], opts: Any = None) -> Work:  # type: ignore[override]
        """Copies the tensors of opts.rootRank to all ranks."""
        opts = opts or BroadcastOptions()
        return self._run(
            "broadcast",
            lambda host: [self._gloo.broadcast(_each(host, tensors), opts)],
            tensors if self._rank == opts.rootRank else [],
            tensors,
        )

    def reduce(self, tensors: list[Tensor], opts: Any = None) -> Work:  # type: ignore[override]
        """Reduces each tensor to opts.rootRank; the others' tensors are left in an undefined state."""
        opts = opts or ReduceOptions()
        return self._run("reduce", lambda host: [self._gloo.reduce(_each(host, tensors), opts)], tensors, tensors)

    def allgather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:  # type: ignore[override]
        """Gives every rank the inputs of all, outputs[i][r] from rank r."""
        opts = opts or AllgatherOptions()
        return self._run(
            "all_gather",
            lambda host: [self._gloo.allgather([_each(host, row) for row in outputs], _each(host, inputs), opts)],
            inputs,
            _flat(outputs),
        )

    def allgather_coalesced(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:
        """Gives every rank the inputs of all, outputs[r][i] from rank r."""
        opts = opts or AllgatherOptions()
        by_input = [[row[index] for row in outputs] for index in range(len(inputs))]
        return self._run(
            "all_gather_coalesced",
            lambda host: [
                self._gloo.allgather([_each(host, row)], [host(item)], opts)
                for row, item in zip(by_input, inputs, strict=True)
            ],
            inputs,
            _flat(outputs),
        )

    def all_gather_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Gathers `input` of all ranks into one tensor, in rank order along dim 0."""
        return self.all_gather_single_coalesced([output], [input], opts, name="all_gather_single")

    def all_gather_single_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None, name: str = ""
    ) -> Work:
        """Several `all_gather_single` in one call."""
        opts = opts or AllgatherOptions()
        return self._run(
            name or "all_gather_single_coalesced",
            lambda host: [
                self._gloo._allgather_base(host(output), host(item), opts)
                for output, item in zip(outputs, inputs, strict=True)
            ],
            inputs,
            outputs,
        )

    def reduce_scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any = None) -> Work:  # type: ignore[override]
        """Reduces inputs[i][r] over the ranks into outputs[i] of rank r."""
        opts = opts or ReduceScatterOptions()
        return self._run(
            "reduce_scatter",
            lambda host: [
                self._gloo._reduce_scatter_base(
                    host(output).reshape(-1), torch.cat([host(part).reshape(-1) for part in parts]), opts
                )
                for output, parts in zip(outputs, inputs, strict=True)
            ],
            _flat(inputs),
            outputs,
        )

    def reduce_scatter_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Reduces `input` over the ranks and leaves this rank's share, cut along dim 0, in `output`."""
        return self.reduce_scatter_single_coalesced([output], [input], opts, name="reduce_scatter_single")

    def reduce_scatter_single_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None, name: str = ""
    ) -> Work:
        """Several `reduce_scatter_single` in one call."""
        opts = opts or ReduceScatterOptions()
        return self._run(
            name or "reduce_scatter_single_coalesced",
            lambda host: [
                self._gloo._reduce_scatter_base(host(output), host(item), opts)
                for output, item in zip(outputs, inputs, strict=True)
            ],
            inputs,
            outputs,
        )

    def scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any = None) -> Work:  # type: ignore[override]
        """Gives rank r the root's inputs[i][r]."""
        opts = opts or ScatterOptions()
        return self._run(
            "scatter",
            lambda host: [self._gloo.scatter(_each(host, outputs), [_each(host, row) for row in inputs], opts)],
            _flat(inputs),
            outputs,
        )

    def gather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:  # type: ignore[override]
        """Gives the root the inputs of all ranks, outputs[i][r] from rank r."""
        opts = opts or GatherOptions()
        return self._run(
            "gather",
            lambda host: [self._gloo.gather([_each(host, row) for row in outputs], _each(host, inputs), opts)],
            inputs,
            _flat(outputs),
        )

    def all_to_all_single(
        self,
        output: Tensor,
        input: Tensor,
        output_split_sizes: list[int],
        input_split_sizes: list[int],
        opts: Any = None,
    ) -> Work:
        """Cuts `input` along dim 0, sends part r to rank r, and joins what came into `output`."""
        opts = opts or AllToAllOptions()
        return self._run(
            "all_to_all_single",
            lambda host: [
                self._gloo.alltoall_base(host(output), host(input), output_split_sizes, input_split_sizes, opts)
            ],
            [input],
            [output],
        )

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Work:
        """Sends inputs[r] to rank r and receives outputs[r] from it."""
        opts = opts or AllToAllOptions()
        received = [torch.empty(sum(item.numel() for item in outputs), dtype=outputs[0].dtype)]

        def launch(host: Host) -> list[Any]:
            sent = torch.cat([host(item).reshape(-1) for item in inputs])
            sizes_out = [item.numel() for item in outputs]
            sizes_in = [item.numel() for item in inputs]
            return [self._gloo.alltoall_base(received[0], sent, sizes_out, sizes_in, opts)]

        def unpack(host: Host) -> None:
            parts = torch.split(received[0], [item.numel() for item in outputs])
            for item, part in zip(outputs, parts, strict=True):
                host(item).copy_(part.view(item.shape))

        return self._run("all_to_all", launch, inputs, outputs, after=unpack)

    def barrier(self, opts: Any = None) -> Work:
        """Returns to no rank before all have called it."""
        opts = opts if isinstance(opts, BarrierOptions) else BarrierOptions()
        return self._run("barrier", lambda _host: [self._gloo.barrier(opts)], [], [])

    def send(self, tensors: list[Tensor], dst: int, tag: int = 0) -> Work:
        """Sends one tensor to a rank of the group."""
        return self._run("send", lambda host: [self._gloo.send(_each(host, tensors), dst, tag)], tensors, [], peer=dst)

    def recv(self, tensors: list[Tensor], src: int, tag: int = 0) -> Work:
        """Receives one tensor from a rank of the group."""
        return self._run("recv", lambda host: [self._gloo.recv(_each(host, tensors), src, tag)], [], tensors, peer=src)

    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Work:
        """Receives one tensor from whichever rank sends first."""
        return self._run(
            "recv_anysource", lambda host: [self._gloo.recv_anysource(_each(host, tensors), tag)], [], tensors
        )

    # The names before torch 2.13; the stub has other parameter names.
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single  # type: ignore[assignment]
    allgather_into_tensor_coalesced = all_gather_single_coalesced  # type: ignore[assignment]
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced  # type: ignore[assignment]
    alltoall_base = all_to_all_single  # type: ignore[assignment]

    def shutdown(self) -> None:
        """Lets the launcher thread finish what it has, and closes gloo's connections."""
        if self._launcher is not None:
            self._launcher.shutdown(wait=True)
            self._launcher = None
        self._gloo.shutdown()

    def abort(self) -> None:
        """Ends at once: what has not been started is dropped."""
        if self._launcher is not None:
            self._launcher.shutdown(wait=False, cancel_futures=True)
            self._launcher = None
        self._gloo.abort()

    # One path for all of them.

    def _run(
        self,
        name: str,
        launch: Callable[[Host], list[Any]],
        reads: Sequence[Tensor],
        writes: Sequence[Tensor],
        *,
        peer: int | None = None,
        after: Callable[[Host], None] | None = None,
    ) -> Work:
        """Brings tensors to the host, starts gloo, and returns the handle that brings results back.

        Args:
            name: The collective, for messages.
            launch: Starts gloo on host tensors; is given the mapping from the caller's tensors to them.
            reads: Tensors whose content gloo needs.
            writes: Tensors that gloo fills.
            peer: The only other rank that takes part, where there is only one.
            after: Runs on the host tensors when gloo is done, on the waiting thread.
        """
        with self._lock:
            self._calls += 1
            number = self._calls
        size = sum(tensor.numel() * tensor.element_size() for tensor in (reads or writes))

        def explain(error: BaseException) -> BaseException:
            return self._explain(error, f"{name} number {number} of {size} bytes", peer)

        ways = {self._memory.way(tensor) for tensor in (*reads, *writes)}
        result = list(writes)
        if Way.STAGED in ways:
            return self._staged(launch, reads, writes, explain, after)
        if Way.STREAMED in ways:
            return self._streamed(launch, reads, writes, explain, after)
        if Way.ALIAS in ways:
            return self._aliased(launch, explain, result, after)
        finish = None if after is None else lambda: after(_same)
        return DirectWork(self._in_order(lambda: launch(_same)), explain, result, finish)

    def _staged(
        self,
        launch: Callable[[Host], list[Any]],
        reads: Sequence[Tensor],
        writes: Sequence[Tensor],
        explain: Callable[[BaseException], BaseException],
        after: Callable[[Host], None] | None,
    ) -> Work:
        needed = {id(tensor) for tensor in reads}
        buffers: dict[int, Tensor] = {}
        for tensor in (*reads, *writes):
            if id(tensor) not in buffers:
                buffers[id(tensor)] = self._memory.stage(tensor, copy=id(tensor) in needed)

        def host(tensor: Tensor) -> Tensor:
            return buffers[id(tensor)]

        def copy_back() -> None:
            if after is not None:
                after(host)
            for tensor in writes:
                tensor.copy_(host(tensor))
            # Only here, where gloo is known to be done with them; after an error it may still hold them.
            for buffer in buffers.values():
                self._memory.unstage(buffer)

        return StagedWork(self._in_order(lambda: launch(host)), explain, list(writes), copy_back)

    def _streamed(
        self,
        launch: Callable[[Host], list[Any]],
        reads: Sequence[Tensor],
        writes: Sequence[Tensor],
        explain: Callable[[BaseException], BaseException],
        after: Callable[[Host], None] | None,
    ) -> Work:
        on_device = {id(tensor): tensor for tensor in (*reads, *writes) if tensor.device.type == "cuda"}
        buffers = {key: self._memory.stage(tensor, copy=False) for key, tensor in on_device.items()}
        copies = CudaCopies(next(iter(on_device.values())).device)
        event = copies.to_host(list(on_device.values()), buffers, {id(tensor) for tensor in reads})

        def host(tensor: Tensor) -> Tensor:
            return buffers.get(id(tensor), tensor)

        def copy_back() -> None:
            if after is not None:
                after(host)
            copies.to_device([tensor for tensor in writes if id(tensor) in buffers], buffers)
            for buffer in buffers.values():
                self._memory.unstage(buffer)

        return self._when_ready(event, lambda: launch(host), explain, list(writes), copy_back)

    def _aliased(
        self,
        launch: Callable[[Host], list[Any]],
        explain: Callable[[BaseException], BaseException],
        result: list[Tensor],
        after: Callable[[Host], None] | None,
    ) -> Work:
        finish = None if after is None else lambda: after(self._host_view)
        return self._when_ready(self._memory.record(), lambda: launch(self._host_view), explain, result, finish)

    def _when_ready(
        self,
        event: ReadyEvent,
        launch: Callable[[], list[Any]],
        explain: Callable[[BaseException], BaseException],
        result: list[Tensor],
        finish: Callable[[], None] | None,
    ) -> Work:
        """Starts gloo on the launcher thread once the device has passed the event."""

        def start() -> list[Any]:
            try:
                wait_for(event)
                return launch()
            finally:
                with self._lock:
                    self._queued -= 1

        with self._lock:
            self._queued += 1
        return LaunchedWork(self._executor().submit(start), explain, result, finish)

    def _host_view(self, tensor: Tensor) -> Tensor:
        return tensor if self._memory.way(tensor) is Way.DIRECT else self._memory.view(tensor)

    def _in_order(self, launch: Callable[[], list[Any]]) -> list[Any]:
        """Starts gloo now, or after what the launcher thread still holds.

        gloo matches collectives by the order in which they start, which must be the same on all ranks.
        """
        with self._lock:
            idle = self._queued == 0
        return launch() if idle else self._executor().submit(launch).result()

    def _executor(self) -> ThreadPoolExecutor:
        if self._launcher is None:
            self._launcher = ThreadPoolExecutor(1, thread_name_prefix="espalier-launch")
        return self._launcher

    def _explain(self, error: BaseException, what: str, peer: int | None) -> BaseException:
        return CollectiveError(
            diagnose(
                str(error),
                what=what,
                rank=self._global_ranks[self._rank],
                view=self._view,
                roll_call=self._roll_call,
                timeout_s=self._timeout.total_seconds(),
                peer=None if peer is None else self._global_ranks[peer],
            )
        )


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _each(host: Host, tensors: Iterable[Tensor]) -> list[Tensor]:
    return [host(tensor) for tensor in tensors]


def _flat(rows: Iterable[Iterable[Tensor]]) -> list[Tensor]:
    return [tensor for row in rows for tensor in row]


def register(view: FabricView, roll_call: RollCall | None = None, memory: HostMemory = DEFAULT) -> None:
    """Makes `unified` a backend that init_process_group and new_group know.

    Args:
        view: What this rank binds, and who the others are. The latest call counts.
        roll_call: Asks the ranks of the world after a failure; None asks nobody.
        memory: How tensors reach the host.
    """

    def create(options: Any, _backend_options: Any) -> dist.ProcessGroup:
        return UnifiedProcessGroup(
            options.store,
            options.group_rank,
            options.group_size,
            options.timeout,
            view=view,
            global_ranks=options.global_ranks_in_group,
            roll_call=roll_call,
            memory=memory,
        )

    # A list, because torch up to 2.13 walks through a string letter by letter.
    devices = list(DEVICES)
    extra = torch._C._get_privateuse1_backend_name()
    if extra != "privateuseone":
        devices.append(extra)
    dist.Backend.register_backend(BACKEND, create, extended_api=True, devices=devices)
