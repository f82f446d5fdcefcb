"""Messages of the Python API in the words of the command line: what to type, not what to call.

Messages are written for Python where they arise. They are rephrased here, where they leave the command line.
"""

import re

_PHRASES = {
    # data
    r"give features=\[…\] without this column": "leave it out with --ignore",
    r"give features=\[…\] without it": "leave it out with --ignore",
    r"categorical_features=\['(.*?)'\] if it holds categories": r"declare --categorical \1 if it holds categories",
    "categorical_features: ": "--categorical: ",
    r"declare it in categorical_features": "declare it with --categorical",
    r"choose one by (\w+)=…": r"choose one with --\1 COLUMN",
    r"which has no columns: (.*) cannot be given": r"which has no columns: remove the options that name them (\1)",
    "it is not among the chosen columns": "--features or --ignore leave it out",
    ", or read it with Polars or pandas and use Dataset.from_frame": "",
    "For LETOR text of another name, use read_letor": "The name of LETOR text must end in .txt",
    ": see read_run": "",
    "with zero_based=False features": "in the training data features",
    r"but n_features is (\w+)": r"but the training data has \1 features",
    r"(?<![\w'/.=-])X(?= has| must| is|, row|, column)": "the data",
    # clicks
    "or use features: method='regression'": "or use features: --method regression",
    r"method='regression' needs features: add them to the log, with log.join\(data\)": (
        "--method regression needs features: name their columns with --features"
    ),
    r"max_position=(\d+)": r"--max-position \1",
    r"name those that do not with features=\[…\], or give features=\[\] and join them later": (
        "name those that do not with --features"
    ),
    r"sr\.read\(…, binned=train\) or swaprank bin": "swaprank bin",
    r"with features=\[…\] of": "with --features of",
    r"give ignore=\['(.*?)'\] instead of docid='.*?'": r"give --ignore \1 instead of --docid \1",
    "(or )?read (it|the data) without binned": r"\1take the file itself instead of its bins",
    # clusters
    r"with fit\(…, checkpoint='model.checkpoint'\), the next fit goes": "with --checkpoint FILE, the same command goes",
    r"fit\(…, checkpoint=…\) with the same data": "train --checkpoint FILE, with the same data",
    r"call fit again with checkpoint='(.*?)' to go on": r"run the same command with --checkpoint \1 to go on",
    ", or wait for them with client.wait_for_workers\\(1\\)": "",
    ", such as with frame.set_index\\('qid'\\) in Dask or partition_by in Polars": "",
    # training
    r": fit\(train, valid=…\)": " with --valid",
    "or a valid= set": "or a validation set with --valid",
    r"give it again with set_params\(metric=…\), or name another one": "name another one with --metric",
    r"give it again with set_params\(objective=…\), or name another one": "only Python can give it again",
    r" An instance can be given, too: for a function of your own, CustomObjective\(gradients=…\)\.": "",
    r"For the amount of smoothing, give objective=SmoothBoostingObjective\(metric, smoothing_factor=…\)": (
        "The amount of smoothing can only be changed in Python"
    ),
    r"\bbase_ranker\b": "--base",
    "n_folds is for a single file": "--folds is for a single file",
    "n_folds must be from 3": "--folds must be from 3",
    r"give ranges=\{…\}": "give --range NAME=LOW..HIGH",
    r"must be \(low, high\) or a list of values, such as \(7, 63\) or \[True, False\]": (
        "must be LOW..HIGH or a list of values, such as 7..63 or true,false"
    ),
    # models
    r'missing="zero"': "--missing zero",
    r"missing must be": "--missing must be",
    r"\(rename=\{'old': 'new'\}\)": "with --rename OLD=NEW",
    "name all features with features=": "name all features with --features",
    "choose another one with name=": "choose another one with --name",
    "rename: ": "--rename: ",
    "read it with swaprank.load": "give it to the other commands as it is",
    "give other feature_names": "give other names with --features",
    r"feature_names has": "--features has",
    r"n_trees must be from 0": "--trees must be from 0",
    "give a baseline or a baseline_feature": "give --baseline or --baseline-feature",
    "choose a query by its qid": "choose one with --query",
    r"This direction is certificate\.direction; polish=True \(--polish\) follows it": "--polish follows this direction",
}


def for_command_line(message: str) -> str:
    """The message with the words of Python replaced by those of the command line.

    >>> from swaprank.cli.command_line_words import for_command_line
    >>> for_command_line("early_stopping_rounds needs a data set to watch: fit(train, valid=…).")
    'early_stopping_rounds needs a data set to watch with --valid.'
    """
    for python, command_line in _PHRASES.items():
        message = re.sub(python, command_line, message)
    return message.replace("--sample_weight", "--sample-weight")
