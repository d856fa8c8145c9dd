"""Shapes: where a problem is posed, with named boundaries, normals and points.

Numbers and expressions only: this package knows nothing of fields and equations.
"""

from pinnsolve.geometry.ball import Hypersphere, Sphere
from pinnsolve.geometry.box import Interval, Rectangle
from pinnsolve.geometry.boxes import Box, Hypercube
from pinnsolve.geometry.disk import Circle, Disk
from pinnsolve.geometry.ellipse import Ellipse
from pinnsolve.geometry.mesh import Mesh
from pinnsolve.geometry.normal import Normal
from pinnsolve.geometry.part import Part
from pinnsolve.geometry.point_cloud import PointCloud
from pinnsolve.geometry.polygon import Polygon, Triangle
from pinnsolve.geometry.polygon_files import read_polygons
from pinnsolve.geometry.revolved import Cone, Cylinder
from pinnsolve.geometry.shape import AbstractShape
from pinnsolve.geometry.torus import Torus

__all__ = [
    "AbstractShape",
    "Box",
    "Circle",
    "Cone",
    "Cylinder",
    "Disk",
    "Ellipse",
    "Hypercube",
    "Hypersphere",
    "Interval",
    "Mesh",
    "Normal",
    "Part",
    "PointCloud",
    "Polygon",
    "Rectangle",
    "Sphere",
    "Torus",
    "Triangle",
    "read_polygons",
]
