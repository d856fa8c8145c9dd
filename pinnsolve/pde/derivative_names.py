"""Names of derivatives: `dxxt` is read as coordinates, which must be possible in one way."""

from collections.abc import Sequence

from pinnsolve.pde.coordinates import Coordinate


def parse_derivative(
    name: str, coordinates: tuple[Coordinate, ...]
) -> tuple[Coordinate, ...] | None:
    """Read `dxxt` as (x, x, t); None if the name is not made of coordinate names."""

    def read(rest: str) -> tuple[Coordinate, ...] | None:
        if not rest:
            return ()
        for coordinate in coordinates:
            if rest.startswith(coordinate.name):
                tail = read(rest[len(coordinate.name) :])
                if tail is not None:
                    return (coordinate, *tail)
        return None

    return (read(name[1:]) or None) if name.startswith("d") else None


def uniquely_readable(names: Sequence[str]) -> bool:
    """Whether every string of names can be cut into names in one way (Sardinas and Patterson)."""
    words = set(names)
    seen: set[str] = set()
    rest = _dangling(words, words) - {""}
    while rest and not rest <= seen:
        if rest & words:
            return False
        seen |= rest
        rest = _dangling(words, rest) | _dangling(rest, words)
    return not rest & words


def _dangling(left: set[str], right: set[str]) -> set[str]:
    return {r[len(w) :] for w in left for r in right if r.startswith(w)}
