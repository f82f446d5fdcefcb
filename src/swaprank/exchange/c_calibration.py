"""The C function that makes calibrated values of scores."""

from string import Template

import numpy as np

from swaprank.exchange.c_tables import c_array, c_number
from swaprank.models.calibration import TAIL, Calibration

_DECLARED = Template("""\
/* $meaning; score is what ${p}_score gives. */
double ${p}_calibrated(double score);
""")
_PLATT = Template("""\

double ${p}_calibrated(double score) {
    return $low + $range / (1 + exp(-($slope * score + $shift)));
}
""")
_ISOTONIC = Template("""\

double ${p}_calibrated(double score) {
    static const double x[] = {$x}, y[] = {$y};
    const double span = x[$last] - x[0];
    size_t low = 0, high = $last;
    if (score < x[0]) return y[0] - $below * ((x[0] - score) / (span + (x[0] - score)));
    if (score > x[$last]) return y[$last] + $above * ((score - x[$last]) / (span + (score - x[$last])));
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (x[middle] <= score) low = middle;
        else high = middle;
    }
    return y[low] + (y[high] - y[low]) * ((score - x[low]) / (x[high] - x[low]));
}
""")


def calibrated_declared(prefix: str, calibration: Calibration) -> str:
    """The declaration of the function."""
    meaning = "The probability of relevance" if calibration.target == "probability" else "The expected label"
    return _DECLARED.substitute(p=prefix, meaning=meaning)


def calibrated_function(prefix: str, calibration: Calibration) -> str:
    """The function."""
    low, high, x, y = calibration.low, calibration.high, calibration.scores, calibration.values
    if calibration.method == "platt":
        numbers = {"low": low, "range": high - low, "slope": x[0], "shift": y[0]}
        return _PLATT.substitute({name: c_number(value) for name, value in numbers.items()}, p=prefix)
    ways = {"below": c_number(TAIL * (y[0] - low)), "above": c_number(TAIL * (high - y[-1]))}
    return _ISOTONIC.substitute(ways, p=prefix, x=c_array(np.array(x)), y=c_array(np.array(y)), last=len(x) - 1)
