"""Tiles: chosen so that what a tile needs stays near the core."""

import pytest

from pinnsolve.devices.cpu import kernel
from pinnsolve.devices.cpu.machine import USUAL, second_level_cache
from tests.devices.test_cpu import executable_of


def caches(folder, sizes):
    for k, (level, size) in enumerate(sizes):
        index = folder / f"index{k}"
        index.mkdir(parents=True)
        (index / "level").write_text(f"{level}\n")
        (index / "size").write_text(f"{size}\n")
    return folder


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([(1, "32K"), (1, "64K"), (2, "512K"), (3, "8192K")], 512 * 1024),
        ([(1, "48K"), (2, "2M")], 2 * 1024**2),
        ([(1, "48K"), (2, "unknown")], USUAL),
        ([], USUAL),
    ],
)
def test_size_of_the_cache(tmp_path, sizes, expected):
    assert second_level_cache(caches(tmp_path / "cache", sizes)) == expected


def test_a_tile_fits_the_cache_and_leaves_points_for_every_thread(monkeypatch):
    (gradient, *_) = executable_of("burgers").program("gradient")
    found = []
    for size in (64, 256, 1024):
        monkeypatch.setattr(kernel, "second_level_cache", lambda size=size: size * 1024)
        found.append(gradient.tile(10**6, 1))
        assert 8 * gradient.arena * found[-1] <= kernel.NEAR * size * 1024
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert gradient.tile(64, 4) == 16
    assert gradient.tile(3, 4) == 8
