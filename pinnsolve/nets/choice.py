"""Which network stands for which fields, and what it is where the user gives none.

Invariant: every field is in one group, and the fields of a group depend on the same coordinates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.errors import NetworkError
from pinnsolve.nets import MLP, Cell, PeriodicEmbedding, SequentialCell
from pinnsolve.pde.fields import part_names
from pinnsolve.pde.periodicity import periodic_axes
from pinnsolve.pde.system import System, is_linear

Network = Cell | Mapping[Any, Cell] | int | None
Group = tuple[str, ...]  # fields that share a network


def cells_of(system: System, network: Network, periodic: bool = True) -> dict[Group, Cell]:
    """The network of each group of fields: one for all, or those of a mapping whose keys are fields
    or tuples of fields; that of a complex field is one for both its parts. The other fields have a
    default one for all with the same coordinates, of this width if a number is given.

    Raises NetworkError for what is none of these, a field that the problem has not, one with two
    networks, and a network for fields of different coordinates.
    """
    width = chosen_width(network)
    given = {system.fields: network} if isinstance(network, Cell) else {}
    if isinstance(network, Mapping):
        given = dict(network)
    cells: dict[Group, Cell] = {}
    for key, cell in given.items():
        parts = key if isinstance(key, tuple | list) else (key,)
        group = tuple(name for part in parts for name in _names(part, system))
        taken = {name for earlier in cells for name in earlier}
        for name in group:
            if name not in system.fields or name in taken:
                raise NetworkError(
                    f"a network is given for {name}, which has one already"
                    if name in taken
                    else f"a network is given for {name}, but the problem's fields are "
                    f"{', '.join(system.fields)}"
                )
        if len({system.inputs(name) for name in group}) > 1:
            raise NetworkError(
                f"one network cannot stand for {', '.join(group)}, which depend on different "
                "coordinates; give one for each, {field: network}, or leave them out"
            )
        cells[group] = cell
    taken = {name for group in cells for name in group}
    for group in system.groups:
        rest = tuple(name for name in group if name not in taken)
        if rest:
            cells[rest] = default_network(system, rest, periodic, width)
    return cells


def chosen_width(network: Network) -> int | None:
    """The width that is asked for instead of a network.

    Raises NetworkError for what is no network either.
    """
    if network is None or isinstance(network, Cell | Mapping):
        return None
    if isinstance(network, int) and not isinstance(network, bool) and network >= 1:
        return network
    raise NetworkError(
        f"network={network!r} is no network: give a Cell such as ps.MLP(2, 1), one for each field "
        "as {u: ps.MLP(2, 1)}, or the width of the default network, such as 24"
    )


def _names(given: Any, system: System) -> tuple[str, ...]:
    """The fields of the system that a field, or a name, stands for."""
    name = str(getattr(given, "name", given))
    parts = part_names(name)
    return parts if name not in system.fields and set(parts) <= set(system.fields) else (name,)


def default_network(
    system: System,
    fields: Sequence[str] | None = None,
    periodic: bool = True,
    width: int | None = None,
) -> Cell:
    """Four hidden layers of the width given, or of 20 for the field of a nonlinear equation, 16 for
    that of a linear one, and 14 + 2 n for n fields of the same coordinates (those of the system,
    unless given); periodic where the fields are, unless that is not wanted. Three layers with as
    many parameters are up to 5 times less accurate, five no better.

    After 60 s on one core Burgers is at 7.6e-8 with 16 and at 1.1e-8 with 20, Allen-Cahn at 1e-5
    and 1e-6 (seed 0). Solutions of linear equations are smooth as a rule, and the next steps are
    worth more: after 20 s Poisson is at 9e-12 with 16 and at 1e-10 with 20, heat after 15 s at
    1e-11 and 4e-10; so with several fields: two that react are at 3e-6 with 18 and at 5e-5 with 20
    after 30 s. The activation is sin for linear equations, whose solutions oscillate or are
    smooth, and tanh for others, whose solutions may steepen: each measured several times better on
    its kind.
    """
    fields = system.fields if fields is None else fields
    inputs = system.inputs(fields[0])
    joined = periodic_axes(system, fields) if periodic else ()
    axes = tuple(inputs.index(axis) for axis in joined)
    linear = is_linear(system)
    activation = ops.sin if linear else ops.tanh
    alone = len(fields) == 1 and not linear
    width = width or (20 if alone else 14 + 2 * len(fields))
    network = MLP(len(inputs) + len(axes), len(fields), width=width, depth=4, activation=activation)
    return SequentialCell(PeriodicEmbedding(axes), network) if axes else network
