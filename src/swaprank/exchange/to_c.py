"""A model as one file of C99 without dependencies, which also compiles as C++.

The functions of a model take up to 64 rows, so that the trees and the rows stay in the cache. A model of models calls
those of its members. Trees are tables (`c_tables.py`); scores of trees have the bits of ours.
"""

import re
from string import Template

import numpy as np

from swaprank.exchange.c_calibration import calibrated_declared, calibrated_function
from swaprank.exchange.c_tables import c_array, c_number, c_rows, c_text, trees_function
from swaprank.exchange.exported import Export, describe
from swaprank.models.scaling import MAX_SCALED
from swaprank.models.served import FeedForward, KernelSum, Mixture, ServedModel, Trees, WeightedSum
from swaprank.version import __version__

_FRAME = Template("""\
/* A ranker of swaprank $version: $kind, $n_features features.

   x has the features of a document in the order of ${p}_feature_names, and NaN where a value is missing. The higher the
   score, the better the document. Do not compile with -ffast-math, which breaks the test for NaN. */
$headers
#define ${P}_N_FEATURES $n_features

#ifdef __cplusplus
extern "C" {
#endif
extern const char *const ${p}_feature_names[$n_features];
double ${p}_score(const float *x);
/* n rows of features, one after the other */
void ${p}_score_many(const float *x, size_t n, double *scores);
$declarations#ifdef __cplusplus
}
#endif

const char *const ${p}_feature_names[$n_features] = {
$names
};

$categories$functions
double ${p}_score(const float *x) {
    double score;
    $model(x, 1, &score);
    return score;
}

void ${p}_score_many(const float *x, size_t n, double *scores) {
    size_t i;
    for (i = 0; i < n; i += 64) $model(x + i * $n_features, n - i < 64 ? n - i : 64, scores + i);
}
""")

_CATEGORIES = Template("""\
static const struct {
    const char *value;
    uint32_t code;
} ${p}_categories[] = {
$rows
};
static const uint32_t ${p}_category_features[][3] = {$features}; /* feature, first row, row after the last */

float ${p}_category(size_t feature, const char *value) {
    size_t f;
    for (f = 0; f < sizeof ${p}_category_features / sizeof *${p}_category_features; f++) {
        uint32_t low = ${p}_category_features[f][1], high = ${p}_category_features[f][2];
        if (${p}_category_features[f][0] != feature) continue;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            int order = strcmp(value, ${p}_categories[middle].value);
            if (order == 0) return (float)${p}_categories[middle].code;
            if (order < 0) high = middle;
            else low = middle + 1;
        }
    }
    return NAN;
}

""")

_SUM = Template("""\
static const double ${f}_weights[] = {$weights};
static const float ${f}_missing[] = {$missing};

static void $f(const $input *x, size_t n, double *scores) {
    size_t i, k;
    for (i = 0; i < n; i++, x += $width) {
        double score = $bias;
        for (k = 0; k < $width; k++) score += ${f}_weights[k] * (double)(x[k] == x[k] ? x[k] : ${f}_missing[k]);
        scores[i] = score;
    }
}
""")

_NET = Template("""\
static const float ${f}_scaling[][4] = { /* whether the logarithm is taken, mean, factor, missing */
$scaling
};
$weights
static void $f(const float *x, size_t n, double *scores) {
    size_t i, j, k;
    for (i = 0; i < n; i++, x += $width) {
        double units_0[$width]$units;
        for (k = 0; k < $width; k++) {
            const float *scaling = ${f}_scaling[k];
            float z = x[k];
            if (scaling[0] != 0) z = (float)(z < 0 ? -log1p(-(double)z) : log1p((double)z));
            z = (z - scaling[1]) * scaling[2];
            units_0[k] = (double)(z != z ? scaling[3] : z > $limit ? $limit : z < -$limit ? -$limit : z);
        }
$layers        scores[i] = units_$last[0];
    }
}
""")

_LAYER = Template("""\
        for (j = 0; j < $outputs; j++) {
            double sum = (double)${f}_biases_$at[j];
            for (k = 0; k < $inputs; k++) sum += (double)${f}_weights_$at[j][k] * units_$below[k];
            units_$at[j] = $activated;
        }
""")
_ACTIVATED = {"tanh": "tanh(sum)", "sigmoid": "1 / (1 + exp(-sum))", "relu": "sum > 0 ? sum : 0"}

_KERNEL = Template("""\
static const double ${f}_factor[] = {$factor};
static const float ${f}_missing[] = {$missing};
static const double ${f}_coefficients[] = {$coefficients};
static const double ${f}_landmarks[][$width] = {
$landmarks
};

static void $f(const float *x, size_t n, double *scores) {
    size_t i, j, k;
    for (i = 0; i < n; i++, x += $width) {
        double z[$width], score = 0;
        for (k = 0; k < $width; k++)
            z[k] = x[k] == x[k] ? ((double)x[k] - (double)${f}_missing[k]) * ${f}_factor[k] : 0;
        for (j = 0; j < $n_landmarks; j++) {
            double sum = 0, value = 1;
$kernel            score += ${f}_coefficients[j] * value;
        }
        scores[i] = score;
    }
}
""")
_KERNELS = {
    "rbf": Template("""\
            for (k = 0; k < $width; k++) sum += (z[k] - ${f}_landmarks[j][k]) * (z[k] - ${f}_landmarks[j][k]);
            value = exp(-$gamma * sum);
"""),
    "polynomial": Template("""\
            for (k = 0; k < $width; k++) sum += z[k] * ${f}_landmarks[j][k];
            for (k = 0; k < $degree; k++) value *= $gamma * sum + 1;
"""),
}

_MIXTURE = Template("""\
static const double ${f}_center[] = {$center}, ${f}_spread[] = {$spread};

static void $f(const float *x, size_t n, double *scores) {
    double members[$n_members][64];
    $input scaled[64 * $n_members];
    size_t i, k;
$calls    for (i = 0; i < n; i++)
        for (k = 0; k < $n_members; k++)
            scaled[i * $n_members + k] = ($input)((members[k][i] - ${f}_center[k]) / ${f}_spread[k]);
    $top(scaled, n, scores);
}
""")


_DECLARED = Template("""\
/* The number of a category, which stands for it in x; NaN if it is not known. */
float ${p}_category(size_t feature, const char *value);
""")


def content(export: Export) -> bytes:
    """The text of a C file."""
    export = export._replace(categories={name: found for name, found in export.categories.items() if found})
    prefix, calibration = c_prefix(export.name), export.calibration
    model = f"{prefix}_model"
    functions = _functions(model, export.model, "float")
    values: dict[str, object] = {"p": prefix, "n_features": len(export.feature_names)}
    text = _FRAME.substitute(
        values,
        version=__version__,
        kind=describe(export.model),
        P=prefix.upper(),
        model=model,
        headers="".join(f"#include <{each}.h>\n" for each in _headers(export)),
        declarations=(_DECLARED.substitute(values) if export.categories else "")
        + ("" if calibration is None else calibrated_declared(prefix, calibration)),
        names=",\n".join(f"    {c_text(name)}" for name in export.feature_names),
        categories=_categories(prefix, export) if export.categories else "",
        functions="\n".join(functions),
    )
    return (text if calibration is None else text + calibrated_function(prefix, calibration)).encode("ascii")


def c_prefix(name: str) -> str:
    """A name as the start of C identifiers.

    >>> from swaprank.exchange.to_c import c_prefix
    >>> c_prefix("shop-ranker v2"), c_prefix("2024"), c_prefix("名")
    ('shop_ranker_v2', 'model_2024', 'model')
    """
    cleaned = re.sub("[^0-9A-Za-z]+", "_", name).strip("_")
    return cleaned if cleaned[:1].isalpha() else f"model_{cleaned}".rstrip("_")


def _headers(export: Export) -> list[str]:
    """The standard headers that the file needs."""
    is_platt = export.calibration is not None and export.calibration.method == "platt"
    needed = {"math": bool(export.categories) or is_platt or not isinstance(export.model, Trees | WeightedSum)}
    needed |= {"stddef": True, "stdint": True, "string": bool(export.categories)}
    return [name for name, is_needed in needed.items() if is_needed]


def _categories(prefix: str, export: Export) -> str:
    """The categories of each feature, sorted by their bytes for `strcmp`."""
    rows: list[str] = []
    features = []
    for name, categories in export.categories.items():
        coded = sorted((category.encode("utf-8", "surrogatepass"), code) for code, category in enumerate(categories))
        features.append(f"{{{export.feature_names.index(name)}, {len(rows)}, {len(rows) + len(coded)}}}")
        rows += [f"    {{{c_text(text)}, {code}}}" for text, code in coded]
    return _CATEGORIES.substitute(p=prefix, rows=",\n".join(rows), features=", ".join(features))


def _functions(name: str, model: ServedModel, input_type: str) -> list[str]:
    """The function of a model, and those that it calls before it. It scores up to 64 rows of this type."""
    match model:
        case Trees(forest):
            return [trees_function(name, forest)]
        case WeightedSum(weights, missing, bias):
            values = {"weights": c_array(weights), "missing": c_array(missing), "bias": c_number(bias)}
            return [_SUM.substitute(values, f=name, input=input_type, width=len(weights))]
        case FeedForward():
            return [_net(name, model)]
        case KernelSum():
            return [_kernel_sum(name, model)]
        case Mixture(members, center, spread, top):
            names = [f"{name}_{at}" for at in range(len(members))]
            parts = [
                part for each, member in zip(names, members, strict=True) for part in _functions(each, member, "float")
            ]
            inner = "float" if isinstance(top, FeedForward) else "double"
            calls = "".join(f"    {each}(x, n, members[{at}]);\n" for at, each in enumerate(names))
            values = {"center": c_array(center), "spread": c_array(spread), "top": f"{name}_top", "calls": calls}
            both = _MIXTURE.substitute(values, f=name, input=inner, n_members=len(members))
            return [*parts, *_functions(f"{name}_top", top, inner), both]


def _net(name: str, model: FeedForward) -> str:
    scaling = np.stack((model.logged.astype(np.float32), model.mean, model.factor, model.missing), axis=1)
    weights, layers, units = [], [], []
    for at, (matrix, biases) in enumerate(model.layers, 1):
        outputs, inputs = matrix.shape
        weights.append(f"static const float {name}_biases_{at}[] = {{{c_array(biases)}}};\n")
        weights.append(f"static const float {name}_weights_{at}[][{inputs}] = {{\n{c_rows(matrix)}\n}};\n")
        activated = _ACTIVATED[model.activation] if at < len(model.layers) else "sum"
        sizes = {"outputs": outputs, "inputs": inputs, "at": at, "below": at - 1}
        layers.append(_LAYER.substitute(sizes, f=name, activated=activated))
        units.append(f", units_{at}[{outputs}]")
    return _NET.substitute(
        f=name,
        width=len(model.mean),
        scaling=c_rows(scaling),
        weights="".join(weights),
        units="".join(units),
        layers="".join(layers),
        last=len(model.layers),
        limit=c_number(np.float32(MAX_SCALED)),
    )


def _kernel_sum(name: str, model: KernelSum) -> str:
    values: dict[str, object] = {"f": name, "width": len(model.factor), "n_landmarks": len(model.landmarks)}
    values |= {"gamma": c_number(model.gamma), "degree": model.degree, "landmarks": c_rows(model.landmarks)}
    values |= {each: c_array(getattr(model, each)) for each in ("factor", "missing", "coefficients")}
    return _KERNEL.substitute(values, kernel=_KERNELS[model.kernel].substitute(values))
