"""Errors that end a run, each with the exit status that the command line promises.

A message is a sentence for the person who typed the command: the place, the value, the reason, the next step.
"""

EXIT_DONE = 0
EXIT_BAD_INPUT = 2
EXIT_FABRIC = 3
EXIT_REPLICAS = 4
EXIT_INTERRUPTED = 130


class EspalierError(Exception):
    """Base of the errors that are shown without a traceback."""

    exit_status = 1


class InputError(EspalierError):
    """A file, option or value that cannot be used. Nothing was started."""

    exit_status = EXIT_BAD_INPUT


class FabricError(EspalierError):
    """A rank or a cable failed: a peer is missing, gone, or did not answer in time."""

    exit_status = EXIT_FABRIC


class ReplicaError(EspalierError):
    """The replicas differ, or a number is not finite: the result must not be trusted."""

    exit_status = EXIT_REPLICAS


class InterruptedRunError(EspalierError):
    """The run was ended by Ctrl-C, SIGTERM, or by a peer that was."""

    exit_status = EXIT_INTERRUPTED
