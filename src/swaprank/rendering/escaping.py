"""Text of data on a terminal: characters that a terminal obeys, or that hide others, are shown as escapes.

Names, ids and paths come from files of others. An escape sequence in them could retitle the window, recolor or erase
what is printed, and marks of direction could show other names than there are.
"""

import re

# Control characters without the line feed, separators of lines, marks that turn the direction of text, halves of
# characters, as in file names that are not UTF-8, and tags, which are invisible.
_UNPRINTABLE = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f"
_IN_TEXT = re.compile(f"[{_UNPRINTABLE}]")
_IN_LINE = re.compile(f"[\n{_UNPRINTABLE}]")
_LARGEST_IN_FOUR_DIGITS = 0xFFFF


def printable(text: str) -> str:
    r"""A text of several lines, as a terminal may show it. JSON stays the same JSON.

    >>> from swaprank.rendering.escaping import printable
    >>> print(printable("query \x1b]0;title\x07\nسؤال"))
    query \u001b]0;title\u0007
    سؤال
    """
    return _IN_TEXT.sub(_escape, text)


def printable_line(text: str) -> str:
    r"""A text of one line, such as a cell of a table, as a terminal may show it.

    >>> from swaprank.rendering.escaping import printable_line
    >>> print(printable_line("two\nlines"))
    two\u000alines
    """
    return _IN_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code <= _LARGEST_IN_FOUR_DIGITS else f"\\U{code:08x}"
