"""Triangles in space: the nearest point of them, and the normal there.

The normal at an edge is the sum of those of its triangles, that at a corner the sum weighted by
their angles, so that its sign tells inside from outside (Baerentzen and Aanaes, IEEE Trans. Vis.
Comput. Graph. 11 (2005) 243-253).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsolve.geometry.numbers import Array

PAIRS = 2**20  # of a point and a triangle that are looked at at once


@dataclass(frozen=True)
class Triangles:
    """A surface of triangles.

    Attributes:
        vertices: places in space.
        faces: three numbers of vertices each, counterclockwise from outside.
    """

    vertices: tuple[tuple[float, ...], ...]
    faces: tuple[tuple[int, ...], ...]

    @cached_property
    def corners(self) -> Array:
        """(m, 3, 3): of each triangle its corners."""
        return np.array(self.vertices)[np.array(self.faces)]

    @cached_property
    def crosses(self) -> Array:
        """(m, 3): normals, as long as twice the areas."""
        a, b, c = self.corners.transpose(1, 0, 2)
        return np.cross(b - a, c - a)

    @cached_property
    def areas(self) -> Array:
        return np.linalg.norm(self.crosses, axis=1) / 2

    @cached_property
    def volume(self) -> float:
        """What they enclose; negative where they are clockwise from outside."""
        return float((self.corners[:, 0] * self.crosses).sum() / 6)

    @cached_property
    def open_edges(self) -> int:
        """How many edges do not belong to two triangles that go along them in opposite ways."""
        edges = Counter((f[k], f[(k + 1) % 3]) for f in self.faces for k in range(3))
        return sum(n != 1 or edges.get((b, a)) != 1 for (a, b), n in edges.items())

    @cached_property
    def _features(self) -> Array:
        """(m, 7, 3): normals of the triangle, its edges opposite to each corner, its corners."""
        unit = self.crosses / np.linalg.norm(self.crosses, axis=1, keepdims=True)
        edges: dict[frozenset[int], Any] = {}
        vertices = np.zeros((len(self.vertices), 3))
        for face, corners, normal in zip(self.faces, self.corners, unit, strict=True):
            for k in range(3):
                a, b = corners[(k + 1) % 3] - corners[k], corners[(k + 2) % 3] - corners[k]
                cosine = a @ b / np.sqrt((a @ a) * (b @ b))
                vertices[face[k]] += np.arccos(np.clip(cosine, -1, 1)) * normal
                edge = frozenset((face[(k + 1) % 3], face[(k + 2) % 3]))
                edges[edge] = edges.get(edge, 0) + normal
        result = np.empty((len(unit), 7, 3))
        result[:, 0] = unit
        for i, face in enumerate(self.faces):
            for k in range(3):
                result[i, 1 + k] = edges[frozenset((face[(k + 1) % 3], face[(k + 2) % 3]))]
                result[i, 4 + k] = vertices[face[k]]
        return result

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        centres = self.corners.mean(axis=1)
        reach = np.linalg.norm(self.corners - centres[:, None], axis=2).max()
        return KDTree(centres), KDTree(self.corners.reshape(-1, 3)), float(reach)

    def nearest(self, points: Array) -> tuple[Array, NDArray[np.int64], Array]:
        """Of points (n, 3): how far they are from the surface (n,), from which triangle (n,), and
        the normal where it is nearest, (n, 3)."""
        centres, vertices, reach = self._tree
        bound = vertices.query(points)[0] + reach
        near = centres.query_ball_point(points, bound * (1 + 1e-12), return_length=True)
        distance = np.empty(len(points))
        face = np.empty(len(points), np.int64)
        weights = np.empty((len(points), 3))
        start = 0
        while start < len(points):
            stop = start + max(1, int(np.searchsorted(np.cumsum(near[start:]), PAIRS)))
            rows = slice(start, stop)
            distance[rows], face[rows], weights[rows] = self._among(
                points[rows], centres.query_ball_point(points[rows], bound[rows] * (1 + 1e-12))
            )
            start = stop
        zero = weights == 0
        feature = np.where(zero.sum(axis=1) == 1, 1 + zero.argmax(axis=1), 0)
        feature = np.where(zero.sum(axis=1) == 2, 4 + (~zero).argmax(axis=1), feature)
        return distance, face, self._features[face, feature]

    def _among(self, points: Array, candidates: Any) -> tuple[Array, Any, Array]:
        counts = np.array([len(c) for c in candidates])
        faces = np.concatenate([np.asarray(c, np.int64) for c in candidates])
        weights, gaps = closest(np.repeat(points, counts, axis=0), self.corners[faces])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        least = np.repeat(np.minimum.reduceat(gaps, starts), counts)
        first = np.flatnonzero(gaps <= least)
        owner = np.repeat(np.arange(len(points)), counts)[first]
        chosen = first[np.searchsorted(owner, np.arange(len(points)))]
        return gaps[chosen], faces[chosen], weights[chosen]

    def signed(self, points: Array) -> Array:
        """Signed distance from a closed surface, (n,), negative inside."""
        distance, face, normal = self.nearest(points)
        weights, _ = closest(points, self.corners[face])
        foot = (weights[:, :, None] * self.corners[face]).sum(axis=1)
        return np.where(((points - foot) * normal).sum(axis=1) < 0, -distance, distance)

    def place(self, unit: Array) -> Array:
        """Points (n, 3) from numbers (n, 2) between 0 and 1; uniform from uniform."""
        ends = np.cumsum(self.areas) / self.areas.sum()
        face = np.searchsorted(ends[:-1], unit[:, 0], side="right")
        start = np.concatenate([[0.0], ends[:-1]])[face]
        away = np.sqrt(np.clip((unit[:, 0] - start) / (ends[face] - start), 0, 1))
        weights = np.stack([1 - away, away * (1 - unit[:, 1]), away * unit[:, 1]], axis=1)
        return (weights[:, :, None] * self.corners[face]).sum(axis=1)


def closest(points: Array, corners: Array) -> tuple[Array, Array]:
    """The nearest point of one triangle (n, 3, 3) each: its weights at the corners (n, 3), those
    that are 0 exactly so, and how far it is, (n,)."""
    a, b, c = corners.transpose(1, 0, 2)
    u, v, p = b - a, c - a, points - a
    uu, uv, vv = ((s * t).sum(axis=1) for s, t in ((u, u), (u, v), (v, v)))
    pu, pv = (p * u).sum(axis=1), (p * v).sum(axis=1)
    scale = uu * vv - uv * uv
    s, t = (vv * pu - uv * pv) / scale, (uu * pv - uv * pu) / scale
    best = np.stack([1 - s - t, s, t], axis=1)
    inside = (best > 0).all(axis=1)
    gap = np.where(inside, _gap(points, corners, best), np.inf)
    for k in range(3):
        start, end = corners[:, k], corners[:, (k + 1) % 3]
        along = end - start
        share = np.clip(((points - start) * along).sum(axis=1) / (along**2).sum(axis=1), 0, 1)
        weights = np.zeros_like(best)
        weights[:, k], weights[:, (k + 1) % 3] = 1 - share, share
        away = _gap(points, corners, weights)
        best = np.where((away < gap)[:, None], weights, best)
        gap = np.minimum(gap, away)
    return best, gap


def _gap(points: Array, corners: Array, weights: Array) -> Array:
    return np.linalg.norm(points - (weights[:, :, None] * corners).sum(axis=1), axis=1)
