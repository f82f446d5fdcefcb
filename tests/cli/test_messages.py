"""Errors say what to type on the command line, not what to call in Python."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.cli.unknown_options import suggested
from swaprank.errors import Hint, Wording
from swaprank.experiments.ranker_parameters import list_parameters, names_elsewhere, trainable_rankers
from tests.command_line import here, swaprank

SOURCE = Path(sr.__path__[0])
PYTHON = re.compile(
    r"\b(set_params|fit|predict|\w+Objective)\(|\w=(…|[\[{ .,;]|$)|\bsr\.|\bX\b|\bDataset\b|\bread_\w+|from_frame|"
    r"zero_based|base_ranker|\bn_features is\b|=True|=False|\bnp\.|\bself\."
)
"""What nobody types on a command line."""


def message(node: ast.expr) -> str:
    """The command line's words for a part of a message in the sources; 7 stands for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(message, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return message(left) + message(right)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{message(body)} {message(orelse)}"
        case ast.Call(func=ast.Name(id="Wording"), args=[_, command_line]):
            return message(command_line)
    return "7"


def texts() -> Iterator[tuple[str, str]]:
    """Every message of an error or warning in the sources that can arise on the command line, with its place.

    Nobody gives a value of a wrong type, or an argument that does not exist, on the command line.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name), args=parts) if name.endswith(("Error", "Warning")):
                    python_only = name in ("ArgumentError", "AttributeError")
                    if not python_only and not any("__name__" in ast.unparse(part) for part in parts):
                        yield f"{path.relative_to(SOURCE)}, line {node.lineno}", "".join(map(message, parts))


@pytest.mark.slow
def test_no_error_of_the_command_line_speaks_python() -> None:
    spoken = {place: text for place, text in texts() if PYTHON.search(text)}
    assert spoken == {}, "say it with a Hint or a Wording, which has other words for the command line"


def test_an_error_speaks_to_python_and_to_the_command_line() -> None:
    cause = sr.errors.DataError("too few: ", Hint("max_position", 5), Wording(" or log.join(data)", ""), ".")
    for error in (cause, pickle.loads(pickle.dumps(cause))):
        within = sr.errors.ModelFileError("a.txt: ", error, " ", KeyError("b"))
        assert str(within) == "a.txt: too few: max_position=5 or log.join(data). 'b'"
        assert within.for_command_line() == "a.txt: too few: --max-position 5. 'b'"
        assert within.args[2] == Hint("max_position", 5)


@pytest.mark.parametrize(
    ("hint", "python", "command_line"),
    [
        (Hint("n_folds", option="--folds"), "n_folds", "--folds"),
        (Hint("missing", "zero"), "missing='zero'", "--missing zero"),
        (Hint("features", [...], "--features"), "features=[…]", "--features"),
        (Hint("sample_weight", ...), "sample_weight=…", "--sample-weight"),
        (Hint("valid", ..., "--valid FILE", call="fit"), "fit(…, valid=…)", "--valid FILE"),
    ],
)
def test_hints(hint: Hint, python: str, command_line: str) -> None:
    assert (str(hint), hint.for_command_line()) == (python, command_line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages")
    (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=6, levels=3, random_state=0)
    sr.write_letor(data, folder / "train.txt")
    sr.write_letor(data, folder / "train.data")
    (folder / "wide.txt").write_text("1 qid:1 9:1\n0 qid:1 1:1\n")
    (folder / "train.csv").write_text("qid,clicked,title,a\n1,0,Shoe,1\n1,1,Boot,2\n")
    assert here("train", "train.txt", "--set", "n_trees=2", "-o", "model.swaprank", folder=folder).code == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("train train.txt --set early_stopping_rounds=3 -o x", "needs a data set to watch: --valid FILE."),
        ("train train.data -o x", "The name of LETOR text must end in .txt."),
        ("train train.csv -o x", "there is no column 'label': choose one by --label COLUMN; "),
        (
            "train train.csv --label clicked -o x",
            "'Shoe' is not a number: leave it out with --ignore, or declare --categorical title if",
        ),
        ("train train.txt --label clicked -o x", "which has no columns: remove the options that name them (label)."),
        ("train train.txt --set objective=lamda -o x", "there is no objective 'lamda'; did you mean 'lambda'?"),
        ("cv train.txt --folds 50", "--folds must be from 3"),
        ("tune train.txt --valid train.txt --range n_leaves=9..3 -o x", "must be LOW..HIGH or a list of values"),
        ("predict model.swaprank wide.txt", "found feature 9, but the training data has 3 features."),
        ("predict model.swaprank train.txt --trees 9", "--trees must be from 0 to 2"),
        ("report model.swaprank train.txt --baseline model.swaprank --baseline-feature 1", "--baseline-feature, not"),
        (
            "export model.swaprank --to vespa -o x",
            "Rename it (--rename OLD=NEW), or name all features with --features.",
        ),
        (
            "export model.swaprank --to vespa --features a,b,c --name 7 --request -o x",
            "choose another one with --name.",
        ),
        ("export model.swaprank --to xgboost --features a,b,<c -o x", "Rename it (--rename OLD=NEW)."),
        (
            "export model.swaprank --to c --features a,b -o x",
            "list as many, in their order; or name them (--rename OLD=NEW).",
        ),
        (
            "export model.swaprank --to solr --missing never -o x",
            "--missing must be 'refuse' or 'zero'; found 'never'.",
        ),
    ],
)
def test_errors_say_what_to_type(folder: Path, arguments: str, said: str) -> None:
    if arguments.startswith("tune"):
        pytest.importorskip("optuna", reason="Optuna is not installed")
    if ".csv" in arguments:
        pytest.importorskip("polars", reason="Polars is not installed")
    failed = here(*arguments.split(), folder=folder)
    assert failed.code == 2
    assert said in failed.err
    assert not PYTHON.search(failed.err)


def test_export_says_which_feature_is_which_if_it_goes_by_their_place(folder: Path) -> None:
    def said(*options: str) -> str:
        ended = here("export", "model.swaprank", "--to", "c", "-o", "model.c", *options, folder=folder)
        assert ended.code == 0
        return ended.out

    assert said("--features", "age,title,body").endswith("\nfeatures by their place: 1 = age, 2 = title, 3 = body\n")
    names = ("--rename", "1=title", "--rename", "2=body", "--rename", "3=age")
    for options in ((), names, (*names, "--features", "age,title,clicks,body")):
        assert "place" not in said(*options)


def test_drift_names_the_option_for_a_model_without_counts(folder: Path) -> None:
    assert here("export", "model.swaprank", "--to", "lightgbm", "-o", "counted.txt", folder=folder).code == 0
    failed = here("drift", "counted.txt", "train.txt", folder=folder)
    assert failed.code == 2
    assert "give the training data with --reference FILE, or train it again." in failed.err


@pytest.mark.slow
def test_a_warning_is_one_line(folder: Path) -> None:
    before = """
import warnings
import swaprank.data.summary as summary
from swaprank.errors import THE_DATA, PrecisionWarning
real = summary.summarize
def warn(data):
    warnings.warn(PrecisionWarning(THE_DATA, " is odd."), stacklevel=2)
    return real(data)
summary.summarize = warn
"""
    assert swaprank("info", "train.txt", folder=folder, before=before).err == "warning: the data is odd.\n"
    assert swaprank("info", "train.txt", "-q", folder=folder, before=before).err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("train x --n-trees 50", "--n-trees; it is a parameter of the ranker: --set n_trees=50"),
        ("tune x --n-trees=50", "--set n_trees=50"),
        ("cv x --ranker a=lambdarank --n-epochs 50", "it is a parameter of the ranker: --set n_epochs=50"),
        ("train x --batch-queries 4", "a parameter of lambdarank, listnet, "),
        ("train x --n-epochs 50", ": --ranker lambdarank --set n_epochs=50"),
        ("train x --num-leaves 31 --lr 0.1", "--set n_leaves=31"),
        ("train x --lr .1", "--set learning_rate=.1"),
        ("train x --subsample .5", "--set query_fraction=.5 or --set document_fraction=.5"),
        ("train x --n-tree 5", "did you mean --set n_trees=5?"),
        ("train x --n-jobs 2", "write --threads 2"),
        ("train x --random-state 2", "write --seed 2"),
        ("train x --eval-set y", "write --valid y"),
        ("train x --monotone-constraints {'a':1}", "--set monotone_constraints={'a':1}"),
        ("train x --metrik map", "(Possible options: --metric"),
        ("predict x --tree 3", "--trees)"),
        ("train x -o y --set n_tree=5", "has no parameter 'n_tree'; did you mean 'n_trees'?"),
        ("cv x --set n_leafs=5", "has no parameter 'n_leafs'; did you mean 'n_leaves'?"),
        ("trian x", "No such command 'trian'. Did you mean 'train'?"),
    ],
)
def test_unknown_options_and_commands_get_suggestions(folder: Path, arguments: str, said: str) -> None:
    failed = here(*arguments.split(), folder=folder)
    assert failed.code == 2
    assert said in " ".join(failed.err.split())


def test_every_parameter_gets_a_suggestion_also_by_the_names_of_others() -> None:
    options = {"--set", "--seed", "--threads", "--metric", "--valid", "--ranker"}
    for kind in trainable_rankers():
        for parameter in list_parameters(kind):
            option = f"--{parameter.name.replace('_', '-')}"
            own = {"random_state": "--seed 3", "n_threads": "--threads 3"}
            expected = own.get(parameter.name, f"--set {parameter.name}=3")
            if option not in options:
                assert expected in suggested(option, ["--ranker", kind, option, "3"], options), (kind, parameter)
    known = {parameter.name for kind in trainable_rankers() for parameter in list_parameters(kind)}
    for theirs, ours in names_elsewhere().items():
        if ours.split(" or ")[0] in known:  # others are arguments of fit
            said = suggested(f"--{theirs.replace('_', '-')}", [], options)
            said = said.replace("--seed", "random_state").replace("--threads", "n_threads")
            assert ours.split(" or ")[0] in said, theirs
