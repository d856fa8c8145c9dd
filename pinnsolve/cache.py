"""The cache: compiled code kept for later processes, and its removal.

A folder ``kernels/<digest>`` holds the code of one compiler and one kind of CPU, so machines may
share a cache; a file in it is named by the digest of the text that was compiled. Invariant: a file
is never changed. It begins with a checksum, is written under another name and then renamed, so
processes may write at once, and one that is damaged all the same is not read but made anew.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path

from pinnsolve.options import Options

DIGEST = 16  # bytes
KERNELS = "kernels"
FOLDER, FILE = (
    re.compile(r"[0-9a-f]{32}"),
    re.compile(r"[0-9a-f]{32}(\.py)?(\.[0-9]+\.[0-9]+\.tmp)?"),
)
_NUMBERS = count()


def digest(*texts: str) -> str:
    """Names of files and folders."""
    return blake2b("\0".join(texts).encode(), digest_size=DIGEST).hexdigest()


class Files:
    """Bytes by name.

    Args:
        cache: the folder of the cache.
        environment: the digest of all that the bytes depend on besides their name.
    """

    def __init__(self, cache: Path, environment: str) -> None:
        self.folder = cache / KERNELS / environment

    def read(self, name: str) -> bytes | None:
        """None for what is not there or is damaged."""
        try:
            whole = (self.folder / name).read_bytes()
        except OSError:
            return None
        checksum, code = whole[:DIGEST], whole[DIGEST:]
        return code if checksum == _checksum(name, code) else None

    def write_text(self, name: str, text: str) -> Path:
        """A file that others read, as it is; where it is, or would be."""
        if not (self.folder / name).exists():
            self._write(name, text.encode())
        return self.folder / name

    def write(self, name: str, code: bytes) -> None:
        """Keep the bytes; where that cannot be, a warning says why."""
        self._write(name, _checksum(name, code) + code)

    def _write(self, name: str, content: bytes) -> None:
        temporary = self.folder / f"{name}.{os.getpid()}.{next(_NUMBERS)}.tmp"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(self.folder / name)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            warnings.warn(
                f"compiled code cannot be kept in {self.folder} ({error.strerror}), so every run "
                "compiles it again; set PINNSOLVE_CACHE to a folder that can be written",
                stacklevel=2,
            )


def _checksum(name: str, code: bytes) -> bytes:
    return blake2b(name.encode() + code, digest_size=DIGEST).digest()


def clear_cache(folder: str | Path | None = None) -> int:
    """Remove all compiled code from the cache, that of other versions and machines too.

    Nothing else is touched: neither computed references nor files that this library did not write.
    Running processes keep the code that they have loaded; it is compiled again when next needed.

    Args:
        folder: of the cache; by default the one that is in use, see ``PINNSOLVE_CACHE``.

    Returns:
        The number of bytes that were freed.

    Raises:
        OSError: a file may not be removed.

    >>> import tempfile
    >>> import pinnsolve as ps
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ps.clear_cache(folder)
    0
    """
    kernels = Path(folder or Options.from_environment().cache) / KERNELS
    freed = 0
    for place in _ours(kernels, FOLDER):
        for file in _ours(place, FILE):
            with suppress(FileNotFoundError):  # another process was faster
                size = file.stat().st_size
                file.unlink()
                freed += size
        with suppress(OSError):  # somebody else's files are in it
            place.rmdir()
    with suppress(OSError):
        kernels.rmdir()
    return freed


def _ours(folder: Path, name: re.Pattern[str]) -> Iterator[Path]:
    if folder.is_dir():
        yield from [path for path in folder.iterdir() if name.fullmatch(path.name)]
