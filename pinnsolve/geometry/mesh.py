"""Solids bounded by triangles, from files or from arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.naming import checked_name
from pinnsolve.geometry.numbers import Array, At
from pinnsolve.geometry.piece import AbstractPiece
from pinnsolve.geometry.sampling import in_box
from pinnsolve.geometry.shape import AbstractShape
from pinnsolve.geometry.triangles import Triangles

TRIES = 64  # places for one point before there is none
MIXED = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # multipliers of splitmix64


@final
@dataclass(frozen=True)
class MeshPiece(AbstractPiece):
    """Triangles of one name."""

    triangles: Triangles
    name: str

    @property
    def dimension(self) -> int:
        return 3

    def measure(self, at: At = None) -> Any:
        return float(self.triangles.areas.sum())

    def place(self, unit: Array, at: At = None) -> Array:
        return self.triangles.place(unit)

    def normals(self, points: Array, at: At = None) -> Array:
        crosses = self.triangles.crosses[self.triangles.nearest(points)[1]]
        return crosses / np.linalg.norm(crosses, axis=1, keepdims=True)

    def distance(self, points: Array, at: At = None) -> Array:
        return self.triangles.nearest(points)[0]

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        raise without_expression(self.name)


def without_expression(what: Any) -> ProblemError:
    """The error of what is known by points and triangles only."""
    return ProblemError(
        "PS-E080",
        "a surface that is given by points or triangles has no expression",
        what,
        'train the conditions on it: exact="auto" does',
    )


def drawn(shape: AbstractShape, unit: Array) -> Array:
    """Points of a shape in its box: where one is outside, the first inside of others that follow
    from the same numbers."""
    points = in_box(shape.bounds, unit)
    outside = np.flatnonzero(~shape.contains(points))
    for k in range(1, TRIES):
        if not len(outside):
            return points
        points[outside] = in_box(shape.bounds, scrambled(unit[outside], k))
        outside = outside[~shape.contains(points[outside])]
    points[outside] = np.nan
    return points


def scrambled(unit: Array, k: int) -> Array:
    """Numbers (n, d) between 0 and 1 that are random for all purposes, made from others: the bits
    of a row, mixed (splitmix64: Steele, Lea and Flood, OOPSLA 2014)."""
    rows = np.ascontiguousarray(unit, np.float64).view(np.uint64)
    seeds = np.zeros(len(unit), np.uint64)
    for column in rows.T:
        seeds = _mixed(seeds ^ column)
    steps = np.arange(1, unit.shape[1] + 1, dtype=np.uint64) + np.uint64(k * unit.shape[1])
    mixed = _mixed(seeds[:, None] + steps * np.uint64(0x9E3779B97F4A7C15))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(MIXED[0])
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(MIXED[1])
    return bits ^ (bits >> np.uint64(31))


@final
@dataclass(frozen=True, repr=False, init=False)
class Mesh(AbstractShape):
    """The inside of a closed surface of triangles.

    Args:
        source: a file that trimesh reads (STL, OBJ, PLY, ...; needs `pip install trimesh`), or
            vertices (n, 3) and faces (m, 3).
        name: of its boundary; or of each face in turn; or a function from the centres and the
            normals of the faces, (m, 3) each, to their names. By default the objects of a file with
            several have their own names, and all else is `surface`.

    Raises:
        ProblemError: the surface is not closed, the file cannot be read, a name is none.

    >>> import pinnsolve as ps
    >>> corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    >>> pyramid = ps.Mesh((corners, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]))
    >>> round(6 * pyramid.measure, 9), sorted(pyramid.parts)
    (1.0, ['surface'])
    """

    surface: Triangles
    names: tuple[str, ...]
    source: str

    def __init__(self, source: Any, name: str | Sequence[str] | Callable[..., Any] | None = None):
        vertices, faces, own, shown = _read(source)
        triangles = Triangles(
            tuple(map(tuple, np.asarray(vertices, float).tolist())),
            tuple(map(tuple, np.asarray(faces, int).tolist())),
        )
        _check(triangles, shown)
        if triangles.volume < 0:
            triangles = Triangles(triangles.vertices, tuple(f[::-1] for f in triangles.faces))
        names = _names(name, own, triangles)
        if len(names) != len(triangles.faces):
            raise ProblemError(
                "PS-E016",
                f"{len(names)} names for {len(triangles.faces)} faces",
                shown,
                "give one name for all, or one for each face",
            )
        object.__setattr__(self, "surface", triangles)
        object.__setattr__(self, "names", tuple(checked_name(n, shown) for n in names))
        object.__setattr__(self, "source", shown)

    def __repr__(self) -> str:
        return self.source

    @property
    def dimension(self) -> int:
        return 3

    @cached_property
    def _corners(self) -> Array:
        return np.array(self.surface.vertices)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        low, high = self._corners.min(axis=0), self._corners.max(axis=0)
        return tuple(zip(low.tolist(), high.tolist(), strict=True))

    @property
    def extent(self) -> float:
        return float(np.ptp(self._corners, axis=0).min())

    @property
    def symbols(self) -> frozenset[Any]:
        return frozenset()

    @cached_property
    def _pieces(self) -> tuple[AbstractPiece, ...]:
        faces: dict[str, list[tuple[int, ...]]] = {}
        for face, name in zip(self.surface.faces, self.names, strict=True):
            faces.setdefault(name, []).append(face)
        return tuple(
            MeshPiece(Triangles(self.surface.vertices, tuple(f)), name) for name, f in faces.items()
        )

    @property
    def pieces(self) -> tuple[AbstractPiece, ...]:
        return self._pieces

    def reach(self, at: At = None) -> Any:
        return self.surface.volume

    def distance(self, points: Array, at: At = None) -> Array:
        return self.surface.signed(np.asarray(points, float))

    def draw(self, unit: Array, at: At = None) -> Array:
        return drawn(self, unit)

    def implicit(self, x: Sequence[Any]) -> sympy.Expr:
        raise without_expression(self)


def _read(source: Any) -> tuple[Any, Any, list[str], str]:
    """Vertices, faces, the names of the faces and the text of a source."""
    if not isinstance(source, str | Path):
        vertices, faces = source
        return vertices, faces, ["surface"] * len(faces), f"Mesh(... {len(faces)} faces)"
    shown = f"Mesh({str(source)!r})"
    try:
        import trimesh
    except ImportError:
        raise ProblemError(
            "PS-E081",
            "files of triangles are read by trimesh, which is not installed",
            shown,
            "run: pip install trimesh",
        ) from None
    if not Path(source).is_file():
        raise ProblemError("PS-E081", "there is no such file", shown, "check the path")
    try:
        scene = trimesh.load_scene(source)
    except Exception as error:  # readers of many formats fail in many ways
        raise ProblemError(
            "PS-E081", f"the file cannot be read: {error}", shown, "check its format"
        ) from error
    objects = {str(k): g for k, g in scene.geometry.items() if isinstance(g, trimesh.Trimesh)}
    if not objects:
        raise ProblemError("PS-E081", "the file has no triangles", shown, "check its content")
    whole = scene.to_mesh()
    whole.merge_vertices()
    names = [_identifier(k) for k, g in objects.items() for _ in g.faces]
    if len(objects) == 1 or len(names) != len(whole.faces):
        names = ["surface"] * len(whole.faces)
    return whole.vertices, whole.faces, names, shown


def _identifier(name: str) -> str:
    """A name as an identifier: letters, digits and underscores of it."""
    text = "".join(c if c.isalnum() else "_" for c in name).strip("_")
    return text if text.isidentifier() else f"part_{text}"


def _check(triangles: Triangles, shown: str) -> None:
    if not len(triangles.faces) or not (triangles.areas > 0).all():
        raise ProblemError(
            "PS-E081", "a triangle of the surface has no area", shown, "mend it, in trimesh or CAD"
        )
    if triangles.open_edges:
        raise ProblemError(
            "PS-E081",
            f"the surface is not closed: {triangles.open_edges} sides of triangles have no "
            "neighbour that goes the other way",
            shown,
            "mend its holes, in trimesh (fill_holes, fix_normals) or CAD",
        )


def _names(name: Any, own: list[str], triangles: Triangles) -> Sequence[str]:
    if name is None or isinstance(name, str):
        return own if name is None else [name] * len(own)
    if isinstance(name, Callable):
        normals = triangles.crosses / (2 * triangles.areas[:, None])
        return [str(n) for n in name(triangles.corners.mean(axis=1), normals)]
    return tuple(name)
