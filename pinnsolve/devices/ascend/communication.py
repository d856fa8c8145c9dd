"""The processes of ``msrun``, which exchange numbers through MindSpore: HCCL, on CPUs MCCL.

Neither library adds in float64, and both move 32-bit integers unchanged. So numbers in float64, and
whatever can be pickled, travel as words of 32 bits, and every rank adds up by itself, in the order
of ranks: the same bits on all of them.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, TypeVar

import numpy as np

from pinnsolve.devices.ascend.environment import load, probe, target
from pinnsolve.devices.communication import AbstractCommunicator, end_all_on_error
from pinnsolve.errors import DeviceError
from pinnsolve.options import Launcher

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")

REDUCTIONS = ("float64", "float32")
HEAD = 1024  # bytes that travel at once, of which the first 8 say how many there are in all
CHUNK = 2**22  # numbers of each rank that are gathered at a time


class MindSporeCollective(AbstractCommunicator):
    """The processes that ``msrun`` started.

    Args:
        reduction: of sums. "float64": every rank is given the numbers of all and adds them in
            float64. "float32": one flat reduction by the collective library, which moves less where
            ranks are many, and rounds sums to 7 digits.
        device: "ascend" or "ascend:cpu"; by default Ascend where there is one. It is that of the
            programs as well, since MindSpore has one a process.

    An exception that ends one of the processes ends all.

    Raises:
        DeviceError: MindSpore is missing, the process was not started by msrun, no such reduction;
            in a method, when another process has not come to the same one in time.
    """

    name = "mindspore"

    def __init__(self, reduction: str = "float64", device: str | None = None) -> None:
        if reduction not in REDUCTIONS:
            raise DeviceError(f"reduction must be {' or '.join(REDUCTIONS)}, not {reduction!r}")
        if Launcher.from_environment().name != "msrun":
            raise DeviceError(
                "communicator 'mindspore' is for processes that msrun has started\n"
                "  fix: msrun --worker_num=2 --local_worker_num=2 --join=True --log_dir=log "
                "script.py; or mpiexec -n 2 python script.py, which needs no MindSpore"
            )
        self._mindspore: Any = load()
        self._target = target(device or ("ascend" if probe().devices else "ascend:cpu"))
        _join()
        self.reduction = reduction
        self.rank = self._mindspore.communication.get_rank()
        self.size = self._mindspore.communication.get_group_size()
        operations = self._mindspore.ops
        self._reduce, self._all_gather = operations.AllReduce(), operations.AllGather()
        self._broadcasts: dict[int, Any] = {}  # by the rank that has the numbers
        machine = platform.node()
        self.local_size = self.gather(machine).count(machine)
        if self.size > 1:
            end_all_on_error(self)

    def __repr__(self) -> str:
        where = f"rank {self.rank} of {self.size} on {self._target}"
        return f"MindSporeCollective({where}, sums in {self.reduction})"

    def allreduce_sum(self, array: Array) -> Array:
        values = np.array(array, float, order="C")
        flat, total = values.ravel(), np.empty(values.size)
        for start in range(0, len(flat), CHUNK):
            part = flat[start : start + CHUNK]
            total[start : start + CHUNK] = (
                self._reduced(part) if self.reduction == "float32" else self._added(part)
            )
        return total.reshape(values.shape)

    def _reduced(self, values: Array) -> Array:
        with np.errstate(over="ignore"):  # infinity is what float32 has for it
            single = values.astype(np.float32)
        return self._run(self._reduce, single).astype(float)

    def _added(self, values: Array) -> Array:
        return self._gathered(values.view(np.int32)).view(float).sum(axis=0)

    def spread(self, array: Array | None, shape: tuple[int, ...], root: int) -> Array:
        mine = self.rank == root % self.size and array is not None
        values = np.array(array if mine else np.zeros(shape), float, order="C")
        if not values.size:
            return values
        words = values.ravel().view(np.int32)
        return self._broadcast(words, root % self.size).view(float).reshape(shape)

    def broadcast(self, value: T) -> T:
        own = pickle.dumps(value) if self.rank == 0 else b""
        head = self._broadcast(_words(_head(own), HEAD)).tobytes()
        length = int.from_bytes(head[:8], "little")
        rest = b""
        if length > HEAD - 8:
            rest = self._broadcast(_words(own[HEAD - 8 :], _room(length - HEAD + 8))).tobytes()
        return pickle.loads((head[8:] + rest)[:length])

    def gather(self, value: T) -> list[T]:
        own = pickle.dumps(value)
        heads = [row.tobytes() for row in self._gathered(_words(_head(own), HEAD))]
        lengths = [int.from_bytes(head[:8], "little") for head in heads]
        rests = [b""] * self.size
        if max(lengths) > HEAD - 8:
            words = _words(own[HEAD - 8 :], _room(max(lengths) - HEAD + 8))
            rests = [row.tobytes() for row in self._gathered(words)]
        return [
            pickle.loads((head[8:] + rest)[:length])
            for head, rest, length in zip(heads, rests, lengths, strict=True)
        ]

    def abort(self, message: str) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.write(f"rank {self.rank}: {message.rstrip()}\n")
        sys.stderr.flush()
        # An orderly end would wait for ranks that wait for this one; msrun ends them when it sees
        # how this one has ended.
        os._exit(1)

    def _gathered(self, words: Array) -> Array:
        """The words of every rank, (size, words)."""
        return self._run(self._all_gather, words).reshape(self.size, -1)

    def _broadcast(self, words: Array, root: int = 0) -> Array:
        if root not in self._broadcasts:
            self._broadcasts[root] = self._mindspore.ops.Broadcast(root)
        return self._run(lambda tensor: self._broadcasts[root]((tensor,))[0], words)

    def _run(self, operation: Callable[[Any], Any], values: Array) -> Array:
        """What the operation makes of the values; a copy, for `asnumpy` shows memory in use."""
        try:
            return np.array(operation(self._mindspore.Tensor(values)).asnumpy())
        except RuntimeError as error:
            raise DeviceError(
                f"waiting for the other processes of msrun failed ({str(error).splitlines()[0]}). "
                "MindSpore's library for CPUs waits 30 s, HCCL as long as HCCL_EXEC_TIMEOUT says, "
                "by default half an hour\n"
                "  fix: look in the logs of the other processes whether one has ended or what it "
                "was busy with; on CPUs use mpiexec, which waits for ever"
            ) from error


@cache
def _join() -> None:
    """Meet the other processes, once.

    msrun starts the script once more than there are workers. In that process, which introduces the
    others to each other, this does not return.
    """
    load().communication.init()


def _head(message: bytes) -> bytes:
    """What travels first: the length, and as much of the message as there is room for.

    >>> len(_head(bytes(5000)))
    1024
    """
    return len(message).to_bytes(8, "little") + message[: HEAD - 8]


def _room(length: int) -> int:
    """Bytes for a message: a power of two, because every new size is compiled anew.

    >>> _room(1025)
    2048
    """
    return max(HEAD, 1 << (length - 1).bit_length())


def _words(message: bytes, room: int) -> Array:
    """The message in 32-bit words, with zeros behind it."""
    return np.frombuffer(message.ljust(room, b"\0"), np.int32)
