"""How many sessions an A/B test needs."""

import math

from swaprank.clicks.experiments.sequential import half_width
from swaprank.errors import ParameterError
from swaprank.parameters import Bounds, check_parameter


def ab_sessions(
    difference: float,
    *,
    deviation: float = 0.5,
    sequential: bool = False,
    power: float = 0.8,
    level: float = 0.05,
) -> int:
    """The number of sessions, of two variants of the same size together, after which a difference is probably seen.

    Args:
        difference: The difference of the means to see, such as 0.01 for one more session in a hundred with a click.
        deviation: The standard deviation of one session: `deviation` of the rows of an earlier `ab_test`. 0.5 is the
            largest that a share, such as "clicked", can have; for a share p it is sqrt(p (1 - p)).
        sequential: True: for a test that may be looked at every day, with `planned` set to this number. It often ends
            earlier; this is when it has ended with the given power.
        power: The probability with which such a difference should be found.
        level: The probability with which a difference may be found although there is none.

    >>> import swaprank as sr
    >>> sr.clicks.ab_sessions(0.01), sr.clicks.ab_sessions(0.01, sequential=True)
    (78489, 150292)
    """
    check_parameter("difference", abs(difference), Bounds(False, 0, math.inf, open_low=True))
    check_parameter("deviation", deviation, Bounds(False, 0, math.inf, open_low=True))
    for name, share in (("power", power), ("level", level)):
        if not 0 < share < 1:
            raise ParameterError(f"{name} must be between 0 and 1; found {share!r}.")
    from scipy.special import ndtri

    border = half_width(1, 1, level) if sequential else float(ndtri(1 - level / 2))
    # Each of the two means has the variance deviation² / (n / 2).
    return math.ceil(4 * (deviation * (border + float(ndtri(power))) / difference) ** 2)
