"""Polygons from files and texts that shapely reads."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.polygon import Polygon
from pinnsolve.geometry.shape import AbstractShape


def read_polygons(source: Any, name: str | None = None, holes: str = "hole") -> AbstractShape:
    """The inside of polygons, without their holes, from WKT, GeoJSON or shapely.

    Args:
        source: a file with WKT or GeoJSON, such a text, or a geometry of shapely. Needs
            `pip install shapely`.
        name: of the outer boundaries; in GeoJSON by default the property `name` of each feature;
            else `outer`.
        holes: name of the boundaries of the holes.

    Raises:
        ProblemError: shapely is missing, the source cannot be read, or has other geometries than
            polygons.

    >>> import pinnsolve as ps
    >>> frame = ps.read_polygons("POLYGON ((0 0, 4 0, 4 3, 0 3, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))")
    >>> frame.measure, sorted(frame.parts)
    (11.0, ['hole', 'outer'])
    """
    shown = f"read_polygons({str(source)[:60]!r})"
    try:
        from shapely import from_wkt
        from shapely.errors import ShapelyError
    except ImportError:
        raise ProblemError(
            "PS-E081",
            "polygons are read by shapely, which is not installed",
            shown,
            "run: pip install shapely",
        ) from None
    items = [(source, None)]
    if isinstance(source, str | Path):
        text = _text(source, shown)
        try:
            items = _geojson(json.loads(text)) if text[:1] == "{" else [(from_wkt(text), None)]
        except (ValueError, KeyError, TypeError, ShapelyError) as error:
            raise ProblemError(
                "PS-E081", f"no polygon can be read: {error}", shown, "give WKT or GeoJSON"
            ) from error
    parts = [p for geometry, own in items for p in _parts(geometry, name or own, holes, shown)]
    if not parts:
        raise ProblemError("PS-E081", "there is no polygon", shown, "check its content")
    return reduce(lambda a, b: a | b, parts)


def _text(source: str | Path, shown: str) -> str:
    text = str(source).strip()
    if isinstance(source, str) and ("(" in text or text.startswith("{")):
        return text
    path = Path(source)
    if not path.is_file():
        raise ProblemError("PS-E081", "there is no such file", shown, "check the path")
    return path.read_text(encoding="utf-8").strip()


def _geojson(data: Any) -> list[tuple[Any, Any]]:
    """The geometries of GeoJSON with their names."""
    from shapely.geometry import shape

    if data["type"] == "FeatureCollection":
        return [item for feature in data["features"] for item in _geojson(feature)]
    if data["type"] == "Feature":
        return [(shape(data["geometry"]), (data.get("properties") or {}).get("name"))]
    return [(shape(data), None)]


def _parts(geometry: Any, name: str | None, holes: str, shown: str) -> list[AbstractShape]:
    if geometry.geom_type == "MultiPolygon":
        return [part for g in geometry.geoms for part in _parts(g, name, holes, shown)]
    if geometry.geom_type != "Polygon":
        raise ProblemError(
            "PS-E081", f"a {geometry.geom_type} is no polygon", shown, "keep the polygons only"
        )
    shape: AbstractShape = Polygon(_corners(geometry.exterior), name=name or "outer")
    for ring in geometry.interiors:
        shape = shape - Polygon(_corners(ring), name=holes)
    return [shape]


def _corners(ring: Any) -> list[tuple[float, float]]:
    return [(float(p[0]), float(p[1])) for p in list(ring.coords)[:-1]]
