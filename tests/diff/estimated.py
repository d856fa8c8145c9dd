"""Networks to estimate: one with values of its own, one whose curvature is known."""

import numpy as np

import pinnsolve as ps


def network(inputs, width=8, depth=2, seed=0):
    net = ps.MLP(inputs, 1, width=width, depth=depth)
    rng = np.random.default_rng(seed)
    for parameter in net.parameters():
        parameter.value = rng.normal(size=parameter.shape) / np.sqrt(parameter.shape[0])
    return net


def hidden(inputs, width=8, seed=0):
    """A network of one hidden layer, and v -> the mean of v^T H v over rows v, in closed form."""
    net = network(inputs, width, depth=1, seed=seed)
    w, b, u, _ = (p.value for p in net.parameters())

    def curvature(x, directions):
        y = np.tanh(x @ w + b)
        return (-2 * y * (1 - y**2) * ((directions @ w) ** 2).mean(axis=0)) @ u[:, 0]

    return net, lambda x: net(x)[0], curvature
