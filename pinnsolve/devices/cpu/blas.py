"""The symmetric rank update of BLAS, and the update of a QR factorization of LAPACK.

numpy has it as ``A @ A.T``, which makes a new square each time and fills both of its triangles. The
routine itself, which scipy carries, adds to one triangle. ctypes lets other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np

from pinnsolve.devices.base import Array

# uplo, trans, n, k, alpha, a, lda, beta, c, ldc: Fortran takes them all by address.
_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 10)
_LETTER, _REAL = {8: "d", 4: "s"}, {8: ctypes.c_double, 4: ctypes.c_float}


def _address(name: str, library: str = "blas") -> int:
    """Of a routine that scipy exports to Cython."""
    module: Any = importlib.import_module(f"scipy.linalg.cython_{library}")
    capsule = module.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer_of(capsule, name_of(capsule))


_ROUTINES = {size: _SIGNATURE(_address(f"{letter}syrk")) for size, letter in _LETTER.items()}
# m, n, l, nb, a, lda, b, ldb, t, ldt, work, info
_TPQRT = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 12)(_address("dtpqrt", "lapack"))
_BLOCK = 64  # columns that are eliminated together


def rank_update(total: Array, rows: Array, keep: float = 1.0) -> None:
    """total = keep * total + rows @ rows.T, on the diagonal and above it.

    total: (n, n) in C order. rows: (n, k) of the same type, each row contiguous. Nothing below the
    diagonal is read or written.
    """
    size, (n, k), stride = total.itemsize, rows.shape, rows.strides[0] // total.itemsize
    assert total.flags.c_contiguous
    assert rows.dtype == total.dtype
    assert rows.strides[1] == size
    real = _REAL[size]
    # Fortran sees both transposed: the triangle above is its lower one.
    _ROUTINES[size](
        b"L", b"T", ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_int(k)),
        ctypes.byref(real(1.0)), rows.ctypes.data, ctypes.byref(ctypes.c_int(stride)),
        ctypes.byref(real(keep)), total.ctypes.data, ctypes.byref(ctypes.c_int(n)),
    )  # fmt: skip


def triangle_update(triangle: Array, rows: Array, upper: bool = False) -> None:
    """The R of a QR factorization with more rows: R'R = triangle' triangle + rows @ rows.T.

    triangle: (n, n) in Fortran order; on its diagonal and above. rows: (n, k) float64, each row
    contiguous, overwritten. upper: k = n, and rows.T is a triangle too.
    """
    (n, k), stride = rows.shape, rows.strides[0] // 8
    assert triangle.flags.f_contiguous
    assert rows.dtype == triangle.dtype == np.float64
    assert rows.strides[1] == 8
    block = min(_BLOCK, n)
    reflectors, work, info = np.empty(block * n), np.empty(block * n), ctypes.c_int(0)
    sizes = [ctypes.c_int(size) for size in (k, n, n if upper else 0, block, n, stride, block)]
    m, n_, trapezoid, nb, lda, ldb, ldt = map(ctypes.byref, sizes)
    _TPQRT(m, n_, trapezoid, nb, triangle.ctypes.data, lda, rows.ctypes.data, ldb,
           reflectors.ctypes.data, ldt, work.ctypes.data, ctypes.byref(info))  # fmt: skip


def mirror(total: Array, others: list[Array]) -> None:
    """Add the triangles of others to the one of total, and make it symmetric; all in place, in
    blocks of rows that stay near the core."""
    n = len(total)
    for first in range(0, n, 64):
        last = min(first + 64, n)
        rows = total[first:last, first:]
        for other in others:
            rows += other[first:last, first:]
        square = rows[:, : last - first]
        square[...] = np.triu(square) + np.triu(square, 1).T
        total[last:, first:last] = rows[:, last - first :].T
