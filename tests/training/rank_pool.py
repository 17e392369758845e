"""Processes that stay up between tests: loading torch takes seconds, a collective takes milliseconds."""

import multiprocessing
import socket
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

LOOPBACK = "127.0.0.1"
ANSWER_S = 120
TIMEOUT_S = 30


class RankPool:
    """Ranks of one world, each in its own process, that run what a test asks of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        context = multiprocessing.get_context("spawn")
        with socket.create_server((LOOPBACK, 0)) as listener:
            port = listener.getsockname()[1]
            self._pipes, self._processes = [], []
            for rank in range(size):
                ours, theirs = context.Pipe()
                handed = listener if rank == 0 else None
                process = context.Process(target=_serve, args=(theirs, rank, size, port, handed), daemon=True)
                process.start()
                self._pipes.append(ours)
                self._processes.append(process)

    def run(self, function: Callable[..., Any], *arguments: Any, ranks: int | None = None) -> list[Any]:
        """Calls a module-level function on the first `ranks` ranks and gives their answers in rank order."""
        pipes = self._pipes[: ranks or self.size]
        for pipe in pipes:
            pipe.send((function, arguments))
        answers = []
        for rank, pipe in enumerate(pipes):
            assert pipe.poll(ANSWER_S), f"rank {rank} did not answer"
            kind, value = pipe.recv()
            assert kind == "value", f"rank {rank}: {value}"
            answers.append(value)
        return answers

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(20)
            process.kill()


def _serve(pipe: Any, rank: int, size: int, port: int, listener: socket.socket | None) -> None:
    import torch
    import torch.distributed as dist

    from training.distributed.fabric_view import FabricView
    from training.distributed.unified import register

    torch.set_num_threads(1)
    register(FabricView(LOOPBACK, [f"mac{number}" for number in range(1, size + 1)]))
    store = dist.TCPStore(
        LOOPBACK,
        port,
        size,
        is_master=rank == 0,
        wait_for_workers=False,
        timeout=timedelta(seconds=TIMEOUT_S),
        master_listen_fd=listener.detach() if listener else None,
    )
    dist.init_process_group("unified", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=TIMEOUT_S))
    while (task := pipe.recv()) is not None:
        function, arguments = task
        try:
            pipe.send(("value", function(*arguments)))
        except BaseException:
            pipe.send(("error", traceback.format_exc()))
    dist.destroy_process_group()
