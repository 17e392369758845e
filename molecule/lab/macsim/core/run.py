"""What the small wrappers at the real paths call."""

from __future__ import annotations

import os
import signal
import sys

from macsim.core import calllog, registry
from macsim.core.context import Context
from macsim.core.errors import ExitError
from macsim.core.registry import Command


def run(command: Command, argv: list[str], context: Context) -> int:
    """Run one command and log the call, whatever becomes of it."""
    began_s = context.now()
    status = 70  # EX_SOFTWARE, kept only when the simulator itself fails
    try:
        status = command.run(argv, context)
    except ExitError as end:
        context.out.write(end.out)
        context.err.write(end.err)
        status = end.status
    finally:
        calllog.record(
            context.paths.call_log,
            time_s=began_s,
            argv=[command.name, *argv],
            uid=context.uid,
            exit_status=status,
        )
    return status


def main(module: str) -> int:
    """Run the command of a file in commands/ with this process's arguments."""
    # As a C program does: a closed pipe ends it without a message.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    status = run(registry.find(module), sys.argv[1:], Context())
    sys.stdout.flush()
    sys.stderr.flush()
    # Nothing is left to clean up, and leaving at once saves a few milliseconds a call.
    os._exit(status)
