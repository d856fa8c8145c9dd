"""Every cell once more, written with numpy from the formulas of the papers, on the values of
`Cell.values()`; on arrays of mpmath numbers it computes with as many digits as wanted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

Values = dict[str, Any]


def _precise(name: str) -> Callable[..., Any]:
    return np.frompyfunc(getattr(mpmath, name), 1, 1)


@dataclass(frozen=True)
class Functions:
    """The elementary functions of an arithmetic."""

    tanh: Callable[..., Any]
    sin: Callable[..., Any]
    cos: Callable[..., Any]
    exp: Callable[..., Any]
    sqrt: Callable[..., Any]


DOUBLE = Functions(np.tanh, np.sin, np.cos, np.exp, np.sqrt)
PRECISE = Functions(*map(_precise, ("tanh", "sin", "cos", "exp", "sqrt")))


def inside(values: Values, name: str) -> Values:
    """The values of a part."""
    return {path[len(name) + 1 :]: v for path, v in values.items() if path.startswith(f"{name}.")}


def dense(f: Functions, v: Values, x, activation=None, factor=1):
    weight = v["weight"]
    if "scale" in v:
        weight = weight * f.exp(v["scale"])[None, :]
    z = x @ weight + v["bias"][None, :]
    if "activation.slope" in v:
        z = factor * v["activation.slope"] * z
    return z if activation is None else activation(z)


def mlp(f, v, x, activation=None, factor=1):
    activation = activation or f.tanh
    depth = len({path.split(".")[1] for path in v})
    for k in range(depth - 1):
        x = dense(f, inside(v, f"cells.{k}"), x, activation, factor)
    return dense(f, inside(v, f"cells.{depth - 1}"), x)


def residual_block(f, v, x):
    z = dense(f, inside(v, "first"), x, f.tanh)
    return x + dense(f, inside(v, "second"), z, f.tanh)


def resnet(f, v, x, blocks):
    x = dense(f, inside(v, "cells.0"), x, f.tanh)
    for k in range(blocks):
        x = residual_block(f, inside(v, f"cells.{k + 1}"), x)
    return dense(f, inside(v, f"cells.{blocks + 1}"), x)


def modified_mlp(f, v, x, depth):
    a, b = (dense(f, inside(v, name), x, f.tanh) for name in "uv")
    for k in range(depth):
        z = dense(f, inside(v, f"hidden.{k}"), x, f.tanh)
        x = z * a + (1 - z) * b
    return dense(f, inside(v, "output"), x)


def multi_scale(f, v, x, scales):
    return sum(mlp(f, inside(v, f"networks.{k}"), scale * x) for k, scale in enumerate(scales))


def fourier(f, v, x):
    z = x @ v["frequencies"]
    return np.concatenate([f.cos(z), f.sin(z)], axis=1)


def pirate_net(f, v, x, blocks):
    x = fourier(f, inside(v, "embedding"), x)
    a, b = (dense(f, inside(v, name), x, f.tanh) for name in "uv")
    for k in range(blocks):
        layers = [inside(v, f"blocks.{k}.layers.{j}") for j in range(3)]
        z = dense(f, layers[0], x, f.tanh)
        z = dense(f, layers[1], z * a + (1 - z) * b, f.tanh)
        z = dense(f, layers[2], z * a + (1 - z) * b, f.tanh)
        alpha = v[f"blocks.{k}.alpha"]
        x = alpha * z + (1 - alpha) * x
    return dense(f, inside(v, "output"), x)


def separable(f, v, x, outputs):
    features = [mlp(f, inside(v, f"networks.{k}"), x[:, k : k + 1]) for k in range(x.shape[1])]
    product = features[0]
    for feature in features[1:]:
        product = product * feature
    return product.reshape(len(x), outputs, -1).sum(axis=2)


def deeponet(f, v, sensors, x, outputs):
    left, right = mlp(f, inside(v, "branch"), sensors), mlp(f, inside(v, "trunk"), x)
    return (left * right).reshape(len(x), outputs, -1).sum(axis=2) + v["bias"]


def periodic(f, x, axes, harmonics, pi):
    columns = []
    for k in range(x.shape[1]):
        if k not in axes:
            columns.append(x[:, k])
            continue
        for m in range(1, harmonics + 1):
            columns += [f.cos(m * pi * x[:, k]), f.sin(m * pi * x[:, k])]
    return np.stack(columns, axis=1)


def layer_norm(f, v, x, epsilon):
    centred = x - x.sum(axis=1, keepdims=True) / x.shape[1]
    variance = (centred**2).sum(axis=1, keepdims=True) / x.shape[1]
    return v["gain"] * centred / f.sqrt(variance + epsilon) + v["bias"]


# --- derivatives with many digits ----------------------------------------------------------------

ORDER = 4
MIXED = [e for e in itertools.product(range(ORDER + 1), repeat=2) if sum(e) <= ORDER]
CENTRAL = {  # differences of second order on the offsets -2, ..., 2
    0: (0, 0, 1, 0, 0),
    1: (0, -0.5, 0, 0.5, 0),
    2: (0, 1, -2, 1, 0),
    3: (-0.5, 1, 0, -1, 0.5),
    4: (1, -4, 6, -4, 1),
}


def derivatives(function: Callable[..., Any], values: Values, points: np.ndarray) -> np.ndarray:
    """Every mixed derivative of two variables to order 4 of ``function(f, values, x)``, right to 15
    digits: ``(len(MIXED), n, outputs)``. Steps of 1e-10 with 70 digits."""
    with mpmath.workdps(70):
        number = np.frompyfunc(mpmath.mpf, 1, 1)
        precise = {name: number(np.asarray(value)) for name, value in values.items()}
        step = mpmath.mpf(10) ** -10
        offsets = number(np.array(list(itertools.product(range(-2, 3), repeat=2)))) * step
        places = (number(points)[:, None, :] + offsets[None]).reshape(-1, 2)
        found = np.asarray(function(PRECISE, precise, places))
        grid = found.reshape(len(points), 5, 5, -1)
        result = []
        for a, b in MIXED:
            weights = np.outer(number(np.array(CENTRAL[a])), number(np.array(CENTRAL[b])))
            total = (grid * weights[None, :, :, None]).sum(axis=(1, 2)) / step ** (a + b)
            result.append(total.astype(float))
        return np.array(result)
