"""The threads of a device."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import ThreadpoolController


class Team:
    """Threads that run one part each; the caller is the first of them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self.blas = ThreadpoolController()

    def run(self, part: Callable[[int], None]) -> None:
        """part(k) for every thread k; BLAS inside stays single-threaded."""
        with self.blas.limit(limits=1, user_api="blas"):
            if self.pool is None:
                part(0)
                return
            others = [self.pool.submit(part, k) for k in range(1, self.threads)]
            part(0)
            for other in others:
                other.result()

    def share(self, thread: int, count: int) -> tuple[int, int]:
        """First and last of the tiles of a thread."""
        return thread * count // self.threads, (thread + 1) * count // self.threads
