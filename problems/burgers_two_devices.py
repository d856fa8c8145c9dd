"""Burgers' equation on two devices: Adam in float32 by MindSpore, then float64 on the host.

The statement and the reference are those of `burgers`. The first stage runs on MindSpore's CPU
target; where there is an Ascend device, write "ascend" for "ascend:cpu". The second one,
Levenberg-Marquardt, polishes on the host, since Ascend has no float64.
"""

import pinnsolve as ps
from problems.burgers import problem, reference

OPTIMIZER = ps.Adam(steps=1000).on("ascend:cpu") >> ps.LevenbergMarquardt().on("cpu")

if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, optimizer=OPTIMIZER, seconds=60)
