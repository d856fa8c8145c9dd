"""What people call: a problem in, a `Solution` out, with the defaults that measured best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from pinnsolve.devices.base import AbstractDevice
from pinnsolve.devices.choice import pick_device
from pinnsolve.devices.communication import (
    AbstractCommunicator,
    first_does,
    pick_communicator,
    shared_threads,
)
from pinnsolve.devices.placement import PlacedDevice
from pinnsolve.errors import PinnsolveError
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.pde.ansatz import Ansatz
from pinnsolve.pde.known_parts import known_parts
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.scaling import Scaling
from pinnsolve.pde.system import is_linear
from pinnsolve.pipeline import Network, compile_problem
from pinnsolve.runs.arguments import check_arguments
from pinnsolve.sampling.points import Collocation, Points
from pinnsolve.sampling.weighting import AbstractWeights
from pinnsolve.sampling.weights import FixedWeights
from pinnsolve.solutions.comparison import Probe
from pinnsolve.solutions.history import Record
from pinnsolve.solutions.solution import Solution
from pinnsolve.training.checkpoint import saved_threads
from pinnsolve.training.correction import corrected
from pinnsolve.training.loop import Training
from pinnsolve.training.marching import march
from pinnsolve.training.policy import choose
from pinnsolve.training.progress import Limits, Progress
from pinnsolve.training.warm_start import first_parameters


def solve(
    problem: Problem,
    network: Network = None,
    points: Points | None = None,
    optimizer: AbstractOptimizer[Any] | None = None,
    seconds: float | None = 120.0,
    steps: int | None = None,
    loss: float | None = None,
    device: str | AbstractDevice = "cpu",
    precision: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | AbstractWeights | None = None,
    progress: bool | str = True,
    callback: Callable[[Record], None] | None = None,
    checkpoint: str | Path | None = None,
    start: Solution | None = None,
    reference: object = None,
    correct: Solution | None = None,
    around: Mapping[Any, Any] | None = None,
    windows: int | Sequence[float] | None = None,
    exact: str = "auto",
    scaling: Scaling | None = None,
    communicator: str | AbstractCommunicator = "auto",
    reproducible: bool = False,
) -> Solution:
    """Train networks until they solve the problem.

    Args:
        problem: what to solve.
        network: a Cell for all fields, or a mapping field -> Cell; by default a small MLP, of this
            width if a number is given. Wider ones take longer and get further.
        points: how many points, where, and how often they are redrawn.
        optimizer: by default what `pinnsolve.training.policy` chooses for the parameters, the time
            and the threads: Levenberg-Marquardt for networks of up to some thousand parameters.
            The report says what was chosen, and why.
        seconds: training time, compilation not counted; None for no limit.
        steps: optimizer steps at most. loss: stop below this loss.
        device: "cpu", "ascend" (MindSpore on an Ascend device, or with a warning on its CPU target
            where there is none), "ascend:cpu" (that target), "reference" or a device object.
        precision: "float64", "float32" or "mixed" of what the device computes; by default float64,
            and float32 on Ascend.
        threads: of the CPU device, at least 1; by default what ``PINNSOLVE_THREADS`` says, or else
            all cores that the process may use. The same number gives the same results to the last
            bit, another number the same to rounding.
        seed: of the points and the first parameters; same seed, same numbers for the same threads.
        weights: name of a residual (see `Solution.residual_names`) -> factor on its mean square; by
            default 1 for equations, 100 for initial values and 10 for other conditions. Or a
            strategy that changes them, such as `GradientWeights()`.
        progress: show a progress line; a text is its title.
        callback: called with every history record.
        checkpoint: a file that is written every 20 s, or less often if that took more than 1 % of
            the time, and at the end; a run that finds it goes on from there, and its limits count
            from the first start.
        start: the first parameters are those of this solution, of a problem with the same network.
        reference: known values, as for `Solution.error`. The error against some of them is noted in
            every record of the history and shown; training neither sees it nor is slowed on its
            clock.
        correct: train a small correction of this solution: the fields are its fields plus a small
            multiple of the network, see `pinnsolve.training.correction`.
        around: field -> what is known of it, an expression of its coordinates, such as how it
            behaves at a corner. The network is what is added to it.
        windows: cut the time into as many windows, solved one after the other: each starts with the
            values and parameters of the one before. They share `seconds` and `steps`, equally or,
            for [3, 2, 1], by these parts, what one leaves goes to the later ones, and each has a
            checkpoint: run.h5 becomes run-1.h5, ...
        exact: "auto", "never" or "require". Conditions on sides hold by construction where they
            can, unless they have a weight in `weights`, see docs/training.md; "never" trains all of
            them, "require" refuses a problem with one that cannot hold so.

        scaling: sizes of fields and equations, by default `problem.nondimensionalize()`: networks
            stand for fields over their sizes and rows of the loss are residuals over theirs, where
            some of them are far from 1. The report shows them.
        communicator: "auto" shares the points among the processes that ``mpiexec``, ``srun`` or
            ``msrun`` started, if one of them did; "serial" solves the whole problem in each; "mpi",
            "mindspore" or a communicator object. All processes get the solution; rank 0 shows
            progress, calls back, writes the checkpoint and measures the time. See docs/scale.md.
        reproducible: the same parameters to the last bit after as many steps, whatever the number
            of processes, up to 12, and of threads. Sums over points are then those of 12 parts, in
            their order, which takes more time and memory; on the CPU. See docs/scale.md.

    Training also stops when the held-out residual has not fallen for half of the time, 30 s and
    five looks since points were last added.

    Raises:
        PinnsolveError: an argument that makes no sense, before training starts.
        ProblemError: exact="require" for a condition that cannot hold exactly; reproducible=True on
            a device that cannot, or with too many processes.
        NetworkError: a network that does not fit the problem, or not the solution to start from.

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> decay = ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})
    >>> solution = decay.solve(steps=20, progress=False)
    >>> abs(float(solution.u(1.0)) - 0.36787944) < 1e-4
    True
    """
    communicator = pick_communicator(communicator)
    options = dict(locals())  # all arguments, before anything else has a name
    check_arguments(options)
    if windows is not None:
        del options["problem"], options["windows"]
        return march(problem, windows, options, solve)
    with threadpool_limits(1, user_api="blas") if reproducible else nullcontext():
        probe = None if reference is None else Probe.of(problem, reference)
        base: tuple[Ansatz, ...] = () if around is None else known_parts(problem, around)
        if correct is not None and around is not None:
            raise PinnsolveError("correct= has a known part already; leave around= out")
        if correct is not None:
            network, base = corrected(problem, correct, network, exact, communicator)
        strategy = weights if isinstance(weights, AbstractWeights) else FixedWeights(weights or {})

        def found(name: str | AbstractDevice, precision: str | None) -> AbstractDevice:
            return shared(pick_device(name, precision, threads), communicator, reproducible)

        target = found(device, precision)
        if places := optimizer.places if optimizer else ():
            target = PlacedDevice(target, {p: found(p.device, p.precision) for p in places})
        pipeline = compile_problem(problem, network, target, exact, strategy.start, base, scaling)
        size = pipeline.model.layout.size
        strategy.check(pipeline.system)
        dimension = pipeline.system.dimension
        saved = first_does(communicator, lambda: saved_threads(checkpoint))
        choice = choose(
            size,
            dimension,
            # A run that may go on with more time, or with other threads, is the same run.
            threads=saved
            or (1 if reproducible else pipeline.executable.threads * communicator.size),
            seconds=None if checkpoint else seconds,
            optimizer=optimizer,
            points=points,
            equations=sum(
                len(b.residuals) for b in pipeline.system.blocks if b.dimension == dimension
            ),
            smooth=is_linear(pipeline.system) and pipeline.system.fills_box,
        )
        training = Training(
            pipeline,
            Collocation(
                pipeline.system, choice.points, size, seed, strategy.first(pipeline.system)
            ),
            strategy,
            choice,
            Limits(None if seconds is None else float(seconds), steps, loss),
            callback,
            None if checkpoint is None else Path(checkpoint),
            None if start is None else first_parameters(pipeline.model, start),
            probe,
            communicator,
        )
        return training.run(_progress(training, progress))


def _progress(training: Training, progress: bool | str) -> Progress:
    title = progress if isinstance(progress, str) else ""
    shown = bool(progress) and training.ranks.is_first
    return Progress(training.names, shown, training.limits, title)


def shared(
    device: AbstractDevice, communicator: AbstractCommunicator, reproducible: bool = False
) -> AbstractDevice:
    """The device with the points shared by the ranks, and the cores by those of a machine."""
    if communicator.size == 1 and not reproducible:
        return device
    from pinnsolve.devices.sharded import ShardedDevice

    device = device.sharing(shared_threads(communicator))
    if reproducible:
        return ShardedDevice.reproducible(device, communicator)
    return ShardedDevice(device, communicator)
