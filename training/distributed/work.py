"""Handles of collectives in flight, for the ways in which bytes reach gloo (see `host_memory`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future as ThreadFuture
from datetime import timedelta
from typing import Any

import torch
from torch._C._distributed_c10d import Work

Explain = Callable[[BaseException], BaseException]


def _wait(work: Any, timeout: timedelta | None) -> None:
    """C++ passes a negative timeout for "the group's own", Python passes None."""
    if timeout is None or timeout.total_seconds() <= 0:
        work.wait()
    else:
        work.wait(timeout)


class _Promise:
    """A future that can fail in a way that C++ understands.

    `Future.set_exception` stores the exception as if it were the value, which Python unpacks and C++ takes for a
    tensor; DistributedDataParallel would crash on it. An error that a `then` callback raises is a real one.
    """

    def __init__(self) -> None:
        self._outcome: torch.futures.Future[Any] = torch.futures.Future()
        self.future: torch.futures.Future[Any] = self._outcome.then(_deliver)

    def settle(self, outcome: list[torch.Tensor] | BaseException) -> None:
        """Completes the future with the tensors, or fails it with the error. Only the first call counts."""
        if not self._outcome.done():
            self._outcome.set_result(outcome)


def _deliver(outcome: torch.futures.Future[Any]) -> list[torch.Tensor]:
    value = outcome.value()
    if isinstance(value, BaseException):
        raise value
    tensors: list[torch.Tensor] = value
    return tensors


class _UnifiedWork(Work):
    """What the three kinds share: gloo's handles, and errors that say what failed."""

    def __init__(self, explain: Explain, result: list[torch.Tensor], finish: Callable[[], None] | None = None) -> None:
        """Keeps what the caller will ask for.

        Args:
            explain: Turns gloo's error into one that names ranks and cables.
            result: The caller's tensors that hold the result.
            finish: Moves the result from gloo's buffers into them; runs once.
        """
        super().__init__()
        self._explain = explain
        self._result = result
        self._finish = finish
        self._finishing = threading.Lock()
        self._error: BaseException | None = None

    def _inner(self) -> Sequence[Any]:
        raise NotImplementedError

    def _complete(self) -> None:
        """What is left to do once gloo is done."""
        with self._finishing:
            finish, self._finish = self._finish, None
            if finish is not None:
                finish()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Blocks until the result is in the tensors.

        Raises:
            RuntimeError: The collective failed; names the ranks and, where known, the cable.
        """
        try:
            for work in self._inner():
                _wait(work, timeout)
        except RuntimeError as error:
            if self._error is None:
                self._error = self._explain(error)
            raise self._error from error
        self._complete()
        return True

    def is_completed(self) -> bool:
        """Whether gloo is done; never blocks."""
        return all(work.is_completed() for work in self._inner())

    def is_success(self) -> bool:
        """Whether gloo is done without an error."""
        return all(work.is_success() for work in self._inner())

    def exception(self) -> Any:
        """The error of a finished collective, or None."""
        return next((error for error in (work.exception() for work in self._inner()) if error), None)

    def result(self) -> list[torch.Tensor]:
        """The tensors that hold the result after `wait`."""
        return self._result

    def synchronize(self) -> None:
        """The same as `wait`: there is no stream that could wait instead."""
        self.wait()

    def source_rank(self) -> int:
        """For a receive from any source: the rank that sent."""
        return int(self._inner()[0]._source_rank())

    _source_rank = source_rank

    def _settle(self, promise: _Promise, works: Sequence[Any]) -> None:
        """Settles `promise` from gloo's own thread when the last of `works` is done.

        `finish` runs there too, so it must not use MPS.
        """
        left = len(works)
        lock = threading.Lock()

        def done(finished: torch.futures.Future[Any]) -> None:
            nonlocal left
            with lock:
                left -= 1
                last = left == 0
            try:
                finished.value()
            except RuntimeError as error:
                promise.settle(error)
                return
            if last:
                self._complete()
                promise.settle(self._result)

        for work in works:
            work.get_future().add_done_callback(done)


class DirectWork(_UnifiedWork):
    """Host tensors: gloo works on the caller's own memory."""

    def __init__(
        self,
        works: Sequence[Any],
        explain: Explain,
        result: list[torch.Tensor],
        finish: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(explain, result, finish)
        self._works = works

    def _inner(self) -> Sequence[Any]:
        return self._works

    def get_future(self) -> torch.futures.Future[Any]:
        """A future that gloo completes; returns at once."""
        if len(self._works) == 1 and self._finish is None:
            future: torch.futures.Future[Any] = self._works[0].get_future()
            return future
        promise = _Promise()
        self._settle(promise, self._works)
        return promise.future


class StagedWork(_UnifiedWork):
    """Device tensors through host buffers: copied back by the thread that waits, once."""

    def __init__(
        self,
        works: Sequence[Any],
        explain: Explain,
        result: list[torch.Tensor],
        copy_back: Callable[[], None],
    ) -> None:
        super().__init__(explain, result, copy_back)
        self._works = works

    def _inner(self) -> Sequence[Any]:
        return self._works

    def get_future(self) -> torch.futures.Future[Any]:
        """A future of the device tensors.

        In a backward pass it returns at once, so that DistributedDataParallel goes on computing: the copy
        back runs as the autograd engine's own final callback, on its thread, queued ahead of the callback
        in which DistributedDataParallel collects its buckets. Elsewhere there is no later moment on this
        thread, so the call waits.
        """
        promise = _Promise()

        def finish() -> None:
            try:
                self.wait()
            except RuntimeError as error:
                promise.settle(error)
                return
            promise.settle(self._result)

        try:
            torch.autograd.Variable._execution_engine.queue_callback(finish)
        except RuntimeError:
            finish()
        return promise.future


class LaunchedWork(_UnifiedWork):
    """Aliased and streamed tensors: started by the group's launcher thread once the device is ready."""

    def __init__(
        self,
        launched: ThreadFuture[Sequence[Any]],
        explain: Explain,
        result: list[torch.Tensor],
        finish: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(explain, result, finish)
        self._launched = launched

    def _inner(self) -> Sequence[Any]:
        return self._launched.result()

    def is_completed(self) -> bool:
        """Whether gloo was started and is done; never blocks."""
        return self._launched.done() and super().is_completed()

    def is_success(self) -> bool:
        """Whether gloo was started and is done without an error; never blocks."""
        return self._launched.done() and super().is_success()

    def get_future(self) -> torch.futures.Future[Any]:
        """A future that gloo's thread completes; returns at once."""
        promise = _Promise()

        def launched(started: ThreadFuture[Sequence[Any]]) -> None:
            error = started.exception()
            if error is not None:
                promise.settle(error)
            else:
                self._settle(promise, started.result())

        self._launched.add_done_callback(launched)
        return promise.future
