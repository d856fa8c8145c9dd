import os
from pathlib import Path

import pytest

from pinnsolve.errors import PinnsolveError
from pinnsolve.options import Options


def test_the_environment_decides() -> None:
    options = Options.from_environment({"PINNSOLVE_CACHE": "/somewhere", "PINNSOLVE_THREADS": "3"})
    assert (options.cache, options.threads, options.threads_given) == (Path("/somewhere"), 3, True)


def test_an_empty_environment_will_do() -> None:
    options = Options.from_environment({})
    assert options.cache.parts[-2:] == (".cache", "pinnsolve")
    assert not options.threads_given
    assert options.threads == len(os.sched_getaffinity(0))


def test_the_cache_follows_xdg() -> None:
    assert Options.from_environment({"XDG_CACHE_HOME": "/xdg"}).cache == Path("/xdg/pinnsolve")


def test_the_environment_is_read_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINNSOLVE_THREADS", "7")
    assert Options.from_environment().threads == 7


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_threads_must_be_a_positive_whole_number(text: str) -> None:
    with pytest.raises(PinnsolveError, match="PINNSOLVE_THREADS must be a whole number"):
        Options.from_environment({"PINNSOLVE_THREADS": text})


def test_a_record_with_no_threads_is_refused() -> None:
    with pytest.raises(PinnsolveError, match="at least 1"):
        Options(Path(), 0)


@pytest.mark.parametrize(("cores", "expected"), [(12, 4), (3, 3), (1, 1)])
def test_processes_that_are_not_pinned_share_the_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, expected: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    assert Options.from_environment({"MPI_LOCALNRANKS": "3"}).threads == expected
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert Options.from_environment({"OMPI_COMM_WORLD_LOCAL_SIZE": "99"}).threads >= 1
