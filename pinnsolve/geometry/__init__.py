"""Shapes: where a problem is posed, with named boundaries, normals and points.

Numbers and expressions only: this package knows nothing of fields and equations.
"""

from pinnsolve.geometry.box import Rectangle
from pinnsolve.geometry.disk import Circle, Disk
from pinnsolve.geometry.normal import Normal
from pinnsolve.geometry.part import Part
from pinnsolve.geometry.shape import AbstractShape

__all__ = ["AbstractShape", "Circle", "Disk", "Normal", "Part", "Rectangle"]
