"""Numbers, texts and trees as they are written in C.

The nodes of all trees are in one table, and the leaves of a tree after its nodes. A leaf is its own child: so eight
documents take the same number of steps down a tree, without a test that the CPU would guess wrongly.
"""

from string import Template
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.errors import ExportError
from swaprank.exchange.plain_trees import tree_depth
from swaprank.models.forest import Forest

_PER_LINE = 8
_PLAIN = b" !#$%&'()*+,-./:;<=>@[]^_`{|}~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_TREES = Template("""\
static const struct ${f}_node {
    float threshold;
    uint32_t feature; /* 2 x feature, + 1 if missing values go right */
    uint32_t child[2];$set_fields
} ${f}_nodes[] = {
$nodes
};
/* root, first leaf, place of its value, depth */
static const uint32_t ${f}_trees[][4] = {
$trees
};
static const double ${f}_values[] = {
    $values};
$words
static uint32_t ${f}_step(uint32_t at, const float *x) {
    const struct ${f}_node *node = &${f}_nodes[at];
    float value = x[node->feature >> 1];
    uint32_t missing_right = node->feature & 1;
$set_step    return node->child[(uint32_t)(value > node->threshold) | ((uint32_t)(value != value) & missing_right)];
}

static void $f(const float *x, size_t n, double *scores) {
    size_t i, k;
    uint32_t t, step;
    for (i = 0; i < n; i++) scores[i] = $base;
    for (t = 0; t < $n_trees; t++) {
        const uint32_t *tree = ${f}_trees[t];
        for (i = 0; i + 8 <= n; i += 8) {
            const float *rows = x + i * $width;
            uint32_t at[8];
            for (k = 0; k < 8; k++) at[k] = tree[0];
            for (step = 0; step < tree[3]; step++)
                for (k = 0; k < 8; k++) at[k] = ${f}_step(at[k], rows + k * $width);
            for (k = 0; k < 8; k++) scores[i + k] += ${f}_values[at[k] - tree[1] + tree[2]];
        }
        for (; i < n; i++) {
            uint32_t at = tree[0];
            while (at < tree[1]) at = ${f}_step(at, x + i * $width);
            scores[i] += ${f}_values[at - tree[1] + tree[2]];
        }
    }
}
""")

_NO_TREES = Template("""\
static void $f(const float *x, size_t n, double *scores) {
    size_t i;
    (void)x;
    for (i = 0; i < n; i++) scores[i] = $base;
}
""")

_SET_FIELDS = """
    uint32_t n_words, first_word; /* of a set of categories: a bit for each that goes left */"""

_SET_STEP = Template("""\
    if (node->n_words) {
        if (value >= 0 && value < (float)(32 * node->n_words)) {
            uint32_t category = (uint32_t)value;
            return node->child[~(${f}_words[node->first_word + category / 32] >> category % 32) & 1];
        }
        return node->child[missing_right];
    }
""")


def c_number(value: float | np.floating[Any]) -> str:
    """A number as a hexadecimal literal, which has all its bits; with an f if it is a float32.

    >>> import numpy as np
    >>> from swaprank.exchange.c_tables import c_number
    >>> c_number(0.5), c_number(np.float32(-0.1)), c_number(0.0)
    ('0x1p-1', '-0x1.99999ap-4f', '0x0p+0')
    """
    digits, _, exponent = float(value).hex().partition("p")
    short = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{short}p{exponent}{'f' if isinstance(value, np.float32) else ''}"


def c_array(values: AnyArray) -> str:
    """Numbers with commas between them, on several lines.

    >>> import numpy as np
    >>> from swaprank.exchange.c_tables import c_array
    >>> c_array(np.array([1.0, 2.0]))
    '0x1p+0, 0x1p+1'
    """
    texts = [c_number(value) for value in values]
    lines = [", ".join(texts[at : at + _PER_LINE]) for at in range(0, len(texts), _PER_LINE)]
    return ",\n    ".join(lines)


def c_rows(matrix: AnyArray) -> str:
    """The rows of a matrix, each in braces."""
    return ",\n".join(f"    {{{c_array(row)}}}" for row in matrix)


def c_text(text: str | bytes) -> str:
    r"""A string literal in ASCII; all but plain characters are octal, so that no trigraph or quote is left.

    >>> from swaprank.exchange.c_tables import c_text
    >>> print(c_text('prix "net" €'))
    "prix \042net\042 \342\202\254"
    """
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if b"\0" in content:
        raise ExportError(f"{content!r} has a zero byte, which a C string cannot have. Rename it.")
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in content) + '"'


def trees_function(name: str, forest: Forest) -> str:
    """The tables of a forest, and the function of this name that scores up to 64 rows."""
    values: dict[str, object] = {"f": name, "base": c_number(forest.base_score)}
    if forest.n_trees == 0:
        return _NO_TREES.substitute(values)
    n_nodes = np.diff(forest.tree_nodes)
    root = forest.tree_nodes[:-1] + forest.tree_leaves[:-1]
    first_leaf = root + n_nodes
    depth = [tree_depth(forest, tree) for tree in range(forest.n_trees)]
    trees = np.stack((root, first_leaf, forest.tree_leaves[:-1], depth), axis=1)
    has_sets = len(forest.words) > 0
    return _TREES.substitute(
        values,
        width=forest.n_features,
        n_trees=forest.n_trees,
        nodes=",\n".join(_nodes(forest, root, first_leaf)),
        trees=",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in trees.tolist()),
        values=c_array(forest.leaf_value),
        set_fields=_SET_FIELDS if has_sets else "",
        set_step=_SET_STEP.substitute(values) if has_sets else "",
        words=_words(name, forest) if has_sets else "",
    )


def _nodes(forest: Forest, root: AnyArray, first_leaf: AnyArray) -> list[str]:
    """The rows of the table: a tree's nodes, then its leaves."""
    of_tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_nodes))
    left, right = (
        np.where(child >= 0, root[of_tree] + child, first_leaf[of_tree] + ~child).tolist()
        for child in (forest.left, forest.right)
    )
    feature = (2 * forest.feature.astype(np.int64) + ~forest.missing_left).tolist()
    first_word = (np.cumsum(forest.n_words, dtype=np.int64) - forest.n_words).tolist()
    has_sets = len(forest.words) > 0
    rows = []
    for tree in range(forest.n_trees):
        for node in range(forest.tree_nodes[tree], forest.tree_nodes[tree + 1]):
            words = f", {forest.n_words[node]}, {first_word[node]}" if has_sets else ""
            threshold = c_number(forest.threshold[node])
            rows.append(f"    {{{threshold}, {feature[node]}, {{{left[node]}, {right[node]}}}{words}}}")
        for leaf in range(forest.tree_leaves[tree + 1] - forest.tree_leaves[tree]):
            at = first_leaf[tree] + leaf
            rows.append(f"    {{0, 0, {{{at}, {at}}}{', 0, 0' if has_sets else ''}}}")
    return rows


def _words(name: str, forest: Forest) -> str:
    return f"static const uint32_t {name}_words[] = {{{', '.join(f'0x{word:x}' for word in forest.words.tolist())}}};\n"
