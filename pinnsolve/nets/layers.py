"""Layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import (
    Array,
    Initializer,
    Parameter,
    Precision,
    checked_precision,
)
from pinnsolve.errors import NetworkError
from pinnsolve.nets.activations import Activation, activation_of
from pinnsolve.nets.cell import Cell, check_sizes
from pinnsolve.nets.containers import name_of
from pinnsolve.nets.initializers import constant, glorot_normal


class Dense(Cell):
    """activation(x W + b), W ``(inputs, outputs)``, b ``(outputs,)``: ``(n, inputs)`` in,
    ``(n, outputs)`` out.

    Args:
        activation: a function such as ``ops.tanh``, an `Adaptive`, or None.
        weight, bias: initial values; `glorot_normal` and zero by default.
        products: "float32" rounds x and W to single precision in their product, and alike all
            derivatives on the way. The sums stay in the precision of the device.

    Raises:
        NetworkError: a size below 1, an unknown precision, or an input of other columns.

    >>> from functools import partial
    >>> import numpy as np, pinnsolve as ps
    >>> layer = ps.nets.Dense(1, 2, weight=ps.nets.constant(0.1), bias=ps.nets.constant(1.0))
    >>> layer(np.array([[0.0], [10.0]])).tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    >>> ps.MLP(2, 1, 20, 1, dense=partial(ps.nets.Dense, products="float32"))
    MLP 2-20-1, tanh, 81 parameters
      cells.0: Dense 2-20, tanh, float32 products, 60 parameters
      cells.1: Dense 20-1, float32 products, 21 parameters
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Activation | None = None,
        weight: Initializer | None = None,
        bias: Initializer | None = None,
        products: Precision = "float64",
    ) -> None:
        check_sizes(inputs=inputs, outputs=outputs)
        self.products = checked_precision(products)
        self.weight = Parameter((inputs, outputs), weight or glorot_normal())
        self.bias = Parameter((outputs,), bias or constant(0.0))
        self.activation = activation_of(activation, outputs)

    @property
    def label(self) -> str:
        inputs, outputs = self.weight.shape
        words = [f"{type(self).__name__} {inputs}-{outputs}"]
        words += [] if self.activation is None else [name_of(self.activation)]
        words += [f"{self.products} products"] * (self.products != "float64")
        return ", ".join(words)

    def construct(self, x: Any) -> Any:
        if x.columns != self.weight.shape[0]:
            raise NetworkError(
                f"a Dense layer of {self.weight.shape[0]} inputs was given {x.columns} columns"
            )
        z = self.product(x) + self.bias
        return z if self.activation is None else self.activation(z)

    def product(self, x: Any) -> Any:
        """x W."""
        if self.products == "float64":
            return ops.dot(x, self.weight)
        return ops.dot(ops.single(x), ops.single(self.weight))


class FactorizedDense(Dense):
    """A Dense layer with random weight factorization, W = V diag(exp(s)), V and s trained
    (Wang, Wang, Seidman and Perdikaris, arXiv:2210.01274).

    s ~ N(mean, deviation^2) and V = W / exp(s), so that W starts as in a Dense layer. Any model
    takes it: ``MLP(2, 1, dense=FactorizedDense)``; with other numbers, through functools.partial.

    >>> import numpy as np, pinnsolve as ps
    >>> layer = ps.nets.FactorizedDense(3, 2, weight=ps.nets.constant(1.0))
    >>> layer
    FactorizedDense 3-2, 10 parameters
    >>> values = layer.values()
    >>> (values["weight"] * np.exp(values["scale"])).round(12).tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Activation | None = None,
        weight: Initializer | None = None,
        bias: Initializer | None = None,
        mean: float = 1.0,
        deviation: float = 0.1,
        products: Precision = "float64",
    ) -> None:
        factors = _Factors(weight or glorot_normal(), mean, deviation)
        self.scale = Parameter((outputs,), factors.scale)  # drawn before the weight
        super().__init__(inputs, outputs, activation, factors.weight, bias, products)

    def product(self, x: Any) -> Any:
        # (x V) exp(s) is x (V diag(exp(s))): one row instead of a matrix for every evaluation.
        return super().product(x) * ops.exp(self.scale)


class _Factors:
    """Initial values that belong together: the weight is divided by the scale drawn before it."""

    def __init__(self, whole: Initializer, mean: float, deviation: float) -> None:
        self.whole, self.mean, self.deviation = whole, mean, deviation
        self.drawn: Array = np.asarray(mean)

    def scale(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        self.drawn = rng.normal(self.mean, self.deviation, shape)
        return self.drawn

    def weight(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return self.whole(rng, shape) / np.exp(self.drawn)


# Dense, FactorizedDense or a partial of them; called with inputs, outputs, activation, weight.
DenseLayer = Callable[..., Dense]


class ResidualBlock(Cell):
    """x + f(f(x W1 + b1) W2 + b2), f the activation (E and Yu, Commun. Math. Stat. 6 (2018) 1-12,
    after He et al. 2016): ``(n, width)`` in and out.

    >>> import numpy as np, pinnsolve as ps
    >>> block = ps.nets.ResidualBlock(3, weight=ps.nets.constant(0.0))
    >>> block(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[1.0, 2.0, 3.0]]
    """

    def __init__(
        self,
        width: int,
        activation: Activation = ops.tanh,
        weight: Initializer | None = None,
        dense: DenseLayer = Dense,
    ) -> None:
        self.first = dense(width, width, activation, weight)
        self.second = dense(width, width, activation, weight)

    def construct(self, x: Any) -> Any:
        return x + self.second(self.first(x))


class LayerNorm(Cell):
    """gain (z - mean(z)) / sqrt(var(z) + epsilon) + bias over the columns; gain and bias are
    ``(width,)`` (Ba, Kiros and Hinton, arXiv:1607.06450).

    Where all columns are equal it is steep: derivatives of order k grow as epsilon^(-k/2). After
    layers whose biases start at zero that is at x = 0, a point of the domain in most problems: give
    such layers other biases, or leave it out.

    >>> import numpy as np, pinnsolve as ps
    >>> ps.nets.LayerNorm(4)(np.array([[1.0, 1.0, 5.0, 5.0]])).round(4).tolist()
    [[-1.0, -1.0, 1.0, 1.0]]
    """

    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        check_sizes(width=width)
        self.gain = Parameter((width,), constant(1.0))
        self.bias = Parameter((width,), constant(0.0))
        self.epsilon = epsilon

    def construct(self, x: Any) -> Any:
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(centred * centred, axis=-1, keepdims=True)
        return centred / ops.sqrt(variance + self.epsilon) * self.gain + self.bias


class Dropout(Cell):
    """In training, each entry is zero with the given probability and divided by 1 - probability
    otherwise (Srivastava et al. 2014). Outside of training (the default, see `set_train`) it is the
    identity.

    The mask is a function of ``seed``, of the number of `redraw` calls and of the place in the
    network that `set_train` or `redraw` was last called on, and of nothing else: the same call
    twice has the same mask, so that line searches and differences make sense. *A training loop
    says* ``net.redraw()`` *before each step, or all steps share one mask.* To what is traced the
    mask is data, so a function that was compiled before a `redraw` uses the new mask after it; the
    mode is part of it, so set the mode before. A program for any number of points, which is what
    ``problem.solve`` compiles, has no place for masks and is refused while in training.

    Raises:
        NetworkError: a probability outside [0, 1); on tracing in training, an unknown number of
            points.

    >>> import numpy as np, pinnsolve as ps
    >>> drop = ps.nets.Dropout(0.5)
    >>> drop(np.ones((1, 6))).tolist()
    [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
    >>> drop.set_train()(np.ones((1, 6))).tolist()
    [[2.0, 0.0, 0.0, 0.0, 2.0, 2.0]]
    >>> drop.redraw()(np.ones((1, 6))).tolist()
    [[2.0, 2.0, 2.0, 2.0, 0.0, 0.0]]
    """

    def __init__(self, probability: float = 0.5, seed: int = 0) -> None:
        if not 0 <= probability < 1:
            raise NetworkError(f"the probability of Dropout must be in [0, 1), not {probability}")
        self.probability, self.seed = probability, seed
        self.masks: dict[tuple[int, ...], Mask] = {}

    @property
    def label(self) -> str:
        return f"Dropout {self.probability:g}"

    def children(self) -> Iterator[tuple[str, Cell | Parameter]]:
        return iter(())  # masks are not parameters of the network

    def construct(self, x: Any) -> Any:
        if not self.training or self.probability == 0:
            return x
        if x.points and not x.shape.count:
            raise NetworkError(
                "Dropout in training needs to know the number of points, which a program compiled "
                "for any number of them does not; call set_train(False) on the network first"
            )
        shape = (x.shape.count, *x.dims) if x.points else x.dims
        mask = self.masks.setdefault(shape, Mask(self, shape)).node
        return x * (ops.spread(mask) if x.points else mask)

    def mask(self, shape: tuple[int, ...]) -> Array:
        """The present mask for values of a shape."""
        rng = np.random.default_rng((self.seed, self.draw, self.place))
        return (rng.random(shape) >= self.probability) / (1 - self.probability)


class Mask(Parameter):
    """A parameter whose value follows its Dropout: graphs hold the leaf, never a mask."""

    def __init__(self, dropout: Dropout, shape: tuple[int, ...]) -> None:
        super().__init__(shape, constant(1.0), requires_grad=False, name="mask")
        self.dropout = dropout

    @Parameter.value.getter
    def value(self) -> Array:
        return self.dropout.mask(self.shape)

    def draw(self, rng: np.random.Generator) -> None:
        """Nothing: the generator is for parameters."""


def grouped_sums(x: Any, groups: int) -> Any:
    """Sums of equal groups of neighbouring columns, ``(.., groups)``."""
    size = x.columns // groups
    return ops.concatenate([ops.sum_columns(ops.cut(x, -1, k * size, size)) for k in range(groups)])
