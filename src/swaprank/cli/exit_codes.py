"""Exit codes: each has one meaning. `docs/command_line.md` lists them."""

NO = 1
"""`certify`: the model is not at an optimum."""
BAD_INPUT = 2
"""Bad usage or bad input."""
BROKEN = 70
"""An internal error; EX_SOFTWARE of sysexits.h."""
INTERRUPTED = 130
"""Ctrl-C (128 + SIGINT). `swaprank.__main__` has the codes of the other signals."""
CLOSED_PIPE = 141
"""The reader of the output has left, as in `swaprank … | head` (128 + SIGPIPE)."""
