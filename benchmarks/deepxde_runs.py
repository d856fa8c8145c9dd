"""DeepXDE on Burgers, Kovasznay flow and Poisson, with the settings of its own examples.

Networks, numbers of points, learning rate and Adam iterations are those of Burgers.py,
Kovasznay_flow.py and, for Poisson on a square, Poisson_Lshape.py in its folder
examples/pinn_forward; L-BFGS follows until it stops, where the backend has it (JAX has not). What
differs is the problem, which is ours: time ends at 1, Re = 40, a unit square with a source.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import REYNOLDS, VISCOSITY, Array

DECAY = REYNOLDS / 2 - math.sqrt(REYNOLDS**2 / 4 + 4 * math.pi**2)
Observe = Callable[[str, int, Callable[[Array], Array]], bool]


@dataclass(frozen=True)
class Settings:
    """Of one example: hidden layers, initial weights, Adam iterations at a rate of 1e-3."""

    layers: tuple[int, ...]
    initializer: str
    iterations: int


SETTINGS = {
    "burgers": Settings((2, 20, 20, 20, 1), "Glorot normal", 15_000),
    "kovasznay": Settings((2, 50, 50, 50, 50, 3), "Glorot normal", 30_000),
    "poisson": Settings((2, 50, 50, 50, 50, 1), "Glorot uniform", 50_000),
}


def load(backend: str, threads: int) -> None:
    """Call it first, in a process of its own: the backend is chosen at import."""
    os.environ["DDE_BACKEND"] = backend
    importlib.import_module("deepxde")
    if backend == "pytorch":
        importlib.import_module("torch").set_num_threads(threads)


def train(problem: str, every: int, observe: Observe) -> None:
    """Adam, then L-BFGS, in float32 as its default is.

    observe: called with the stage, the iteration and the network as a function of points every so
    many iterations; training ends when it returns False.
    """
    dde: Any = importlib.import_module("deepxde")
    backend = dde.backend.backend_name
    dde.config.set_random_seed(0)
    settings = SETTINGS[problem]
    net = dde.nn.FNN(list(settings.layers), "tanh", settings.initializer)
    model = dde.Model(DATA[problem](dde), net)
    stages: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("adam", {"lr": 1e-3}, {"iterations": settings.iterations})
    ]
    if backend == "pytorch":
        stages.append(("L-BFGS", {}, {}))
        # Looked at every so many iterations; the optimizer keeps its memory in between.
        dde.optimizers.config.LBFGS_options["iter_per_step"] = every
    for stage, compiled, trained in stages:
        watch = _watch(dde, stage, every, observe)
        model.compile(stage, verbose=0, **compiled)
        model.train(display_every=10**9, callbacks=[watch], verbose=0, **trained)
        if watch.ended:
            return


def _watch(dde: Any, stage: str, every: int, observe: Observe) -> Any:
    class Watch(dde.callbacks.Callback):
        ended = False
        next_look = 0

        def on_epoch_end(self) -> None:
            iteration = self.model.train_state.iteration
            if iteration >= self.next_look:
                self.next_look = iteration + every
                self.ended = not observe(stage, iteration, self.model.predict)
                self.model.stop_training = self.ended

    return Watch()


# --- the problems, as its examples state them -----------------------------------------------------


def _derivatives(dde: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """First and second derivatives; the JAX backend returns them with a function."""

    def first(y: Any, x: Any, component: int, axis: int) -> Any:
        found = dde.grad.jacobian(y, x, i=component, j=axis)
        return found[0] if isinstance(found, tuple) else found

    def second(y: Any, x: Any, component: int, axis: int) -> Any:
        found = dde.grad.hessian(y, x, component=component, i=axis, j=axis)
        return found[0] if isinstance(found, tuple) else found

    return first, second


def _values(y: Any) -> Any:
    return y[0] if isinstance(y, tuple) else y


def burgers(dde: Any) -> Any:
    first, second = _derivatives(dde)

    def pde(x: Any, y: Any) -> Any:
        change = first(y, x, 0, 1) + _values(y) * first(y, x, 0, 0)
        return change - VISCOSITY * second(y, x, 0, 0)

    domain = dde.geometry.GeometryXTime(
        dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1)
    )  # fmt: skip
    conditions = [
        dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on_boundary: on_boundary),
        dde.icbc.IC(domain, lambda x: -np.sin(np.pi * x[:, :1]), lambda _, initial: initial),
    ]
    numbers = {"num_domain": 2540, "num_boundary": 80, "num_initial": 160}
    return dde.data.TimePDE(domain, pde, conditions, **numbers)


def kovasznay(dde: Any) -> Any:
    first, second = _derivatives(dde)

    def pde(x: Any, y: Any) -> Sequence[Any]:
        fields = _values(y)
        u, v = fields[:, 0:1], fields[:, 1:2]
        momentum = [
            u * first(y, x, k, 0) + v * first(y, x, k, 1) + first(y, x, 2, k)
            - (second(y, x, k, 0) + second(y, x, k, 1)) / REYNOLDS
            for k in (0, 1)
        ]  # fmt: skip
        return [*momentum, first(y, x, 0, 0) + first(y, x, 1, 1)]

    domain = dde.geometry.Rectangle([-0.5, -0.5], [1, 1.5])

    def wave(x: Array) -> Array:
        return np.exp(DECAY * x[:, :1])

    def everywhere(_: Any, on_boundary: bool) -> bool:
        return on_boundary

    def outflow(x: Any, on_boundary: bool) -> bool:
        return on_boundary and dde.utils.isclose(x[0], 1)

    exact = [
        (lambda x: 1 - wave(x) * np.cos(2 * np.pi * x[:, 1:2]), everywhere),
        (lambda x: DECAY / (2 * np.pi) * wave(x) * np.sin(2 * np.pi * x[:, 1:2]), everywhere),
        (lambda x: (1 - wave(x) ** 2) / 2, outflow),
    ]
    conditions = [
        dde.icbc.DirichletBC(domain, value, where, component=k)
        for k, (value, where) in enumerate(exact)
    ]
    return dde.data.PDE(domain, pde, conditions, num_domain=2601, num_boundary=400)


def poisson(dde: Any) -> Any:
    _, second = _derivatives(dde)
    sin = dde.backend.sin

    def pde(x: Any, y: Any) -> Any:
        source = 2 * np.pi**2 * sin(np.pi * x[:, 0:1]) * sin(np.pi * x[:, 1:2])
        return -second(y, x, 0, 0) - second(y, x, 0, 1) - source

    domain = dde.geometry.Rectangle([0, 0], [1, 1])
    condition = dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on_boundary: on_boundary)
    return dde.data.PDE(domain, pde, condition, num_domain=1200, num_boundary=120)


DATA: dict[str, Callable[[Any], Any]] = {
    "burgers": burgers,
    "kovasznay": kovasznay,
    "poisson": poisson,
}
