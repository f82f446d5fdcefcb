"""Small valid files of RankLib for the fuzzer."""

from __future__ import annotations

_LEAF = "<split><output> 1.5 </output></split>"
_STUMP = (
    "<split>\n<feature> 3 </feature>\n<threshold> -0.25 </threshold>\n"
    '<split pos="left">\n<output> -1.0 </output>\n</split>\n'
    '<split pos="right">\n<output> 2.0E-3 </output>\n</split>\n</split>'
)
_NESTED = (
    "<split><feature>1</feature><threshold>0.5</threshold>"
    '<split pos="left"><feature>12</feature><threshold>3.4028235E38</threshold>'
    '<split pos="left"><output>0.25</output></split><split pos="right"><output>7</output></split></split>'
    '<split pos="right"><output>-3</output></split></split>'
)


def ensemble(*splits: str, weight: str = "0.1") -> str:
    """An ensemble of these trees."""
    trees = (f'\t<tree id="{at + 1}" weight="{weight}">\n{split}\n\t</tree>\n' for at, split in enumerate(splits))
    return f"<ensemble>\n{''.join(trees)}</ensemble>\n"


def ranklib_seeds() -> list[bytes]:
    """One file per kind of model of trees in XML, with comments."""
    lambdamart = "## LambdaMART\n## No. of trees = 3\n## Learning rate = 0.1\n\n" + ensemble(_STUMP, _NESTED, _LEAF)
    mart = "## MART\n" + ensemble(_NESTED, weight="1.0")
    forest = "## Random Forests\n## No. of bags = 2\n\n" + ensemble(_STUMP) + "\n" + ensemble(_NESTED, _LEAF) + "\n"
    return [text.encode() for text in (lambdamart, mart, forest)]


PLAIN_SEEDS = (
    b"## Linear Regression\n0:0.5 1:-0.25 3:2\n",
    b"## AdaRank\n2:0.5 1:0.25 2:1E-3\n",
    b"## RankBoost\n## Iteration = 2\n1:0.5:0.25 2:-3:1E-2\n",
)
"""Files of models without XML."""
