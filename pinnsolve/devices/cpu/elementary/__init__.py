"""Elementary functions written in arithmetic, so that they run on vectors on any CPU.

Traced without reassociation: the argument reductions rely on the order of operations. Methods:
argument reduction in parts (Cody and Waite, Software Manual for the Elementary Functions, 1980;
Muller et al., Handbook of Floating-Point Arithmetic, 2018), tails and rational forms as in fdlibm
(Sun Microsystems, 1993), minimax polynomials (Remez, computed in 60 digits), each given as a pair
for double and single precision. ERRORS bounds the error in units in the last place, subnormal
arguments and results included; a test measures it against mpmath. Where a method ends (an angle
of a million, the logarithm of a negative number) a branch that is hardly ever taken leads to the
C library, whose own error counts there. A processor without fused multiply-add computes tanh,
expm1, sin and cos slowly, one number at a time.
"""

from pinnsolve.devices.cpu.elementary import (
    arithmetic,
    circular,
    error_function,
    exponential,
    logarithm,
    simple,
)
from pinnsolve.devices.cpu.elementary.arithmetic import ERRORS, FUNCTIONS

# What compiled kernels depend on.
MODULES = (arithmetic, exponential, logarithm, circular, error_function, simple)

__all__ = ["ERRORS", "FUNCTIONS", "MODULES"]
