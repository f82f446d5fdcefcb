"""Arguments of LightGBM, XGBoost and CatBoost that are not accepted, and what to give instead."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from swaprank.errors import ArgumentError, did_you_mean

_ARGUMENTS = {
    "query_fraction or document_fraction": "subsample bagging_fraction sub_row bagging bagging_by_query",
    "min_gain, which is twice XGBoost's gamma for rank: objectives": "gamma min_split_loss",
    "horizon": "lambdarank_truncation_level lambdarank_num_pair_per_sample max_position",
    "normalize": "lambdarank_normalization",
    "random_state": "bagging_seed feature_fraction_seed data_random_seed drop_seed objective_seed",
    "max_bins, which is one more than CatBoost's border_count": "border_count",
    "y": "label",
    "sample_weight or query_weight": "weight group_weight",
    "base_score": "init_score base_margin baseline",
    "categorical_features": "categorical_feature cat_features",
    "base_ranker": "base init_model xgb_model",
    "qid": "group_id query",
}
"""Our arguments, and arguments elsewhere that mean about the same; the same ones are accepted, see parameters.py."""

_ADVICE = {
    "metric='ndcg@10(gain=0/1/3/7)', with the gain of each label": "label_gain",
    "metric='ndcg@10', with the depth in the name; fit(metrics=[…]) measures more": "eval_at ndcg_eval_at",
    "metric='ndcg@10' is optimized; fit(metrics=[…]) is measured": "eval_metric loss_function",
    "fit(…, cluster=swaprank.cluster.Dask(client)), or nothing: the current client of Dask is taken": "client",
    "fit(verbose=True) shows progress": "verbose verbosity silent verbose_eval",
    "fit(…, valid=…)": "eval_set valid_sets evals eval_X eval_y",
    "fit(valid={'name': data})": "eval_names valid_names",
    "valid=Dataset(X, y, qid=qid, sample_weight=…, base_score=…)": (
        "eval_sample_weight eval_init_score sample_weight_eval_set base_margin_eval_set"
    ),
    "fit(base_score=…), or a Dataset with base_score": "init_score base_margin baseline",
    "qid, one query id per row, or group, the number of rows of each query": "groups",
    "Dataset(…, feature_names=[…]), or a table with column names": "feature_name feature_names",
    "fit(…, categorical_features=['brand', 3]), or Dataset(…, categorical_features=…); text and category columns of "
    "tables are categorical by themselves": (
        "categorical_feature categorical_features cat_features categorical_column cat_feature"
    ),
    "always: text and category columns of tables are categorical, others are declared by categorical_features": (
        "enable_categorical feature_types"
    ),
    "not available: categories are matched by their values": "pandas_categorical",
    "not available; l2 is": "reg_alpha lambda_l1",
    "not available; min_docs_in_leaf and l2 are": "min_child_weight min_sum_hessian_in_leaf max_delta_step",
    "not available; leaf_smoothing, in documents, is for all leaves": (
        "cat_smooth cat_l2 min_data_per_group max_cat_to_onehot max_cat_threshold path_smooth"
    ),
    "not available; split_noise makes the choice of splits random": "extra_trees extra_seed",
    "not available; monotone_constraints always holds exactly": "monotone_constraints_method monotone_penalty",
    "not available; bins of more documents need a smaller max_bins": "min_data_in_bin subsample_for_bin",
    "missing values are NaN; 0 is a number": "zero_as_missing use_missing",
    "document_fraction": "top_rate other_rate",
    "one ranker has one score for each document": "num_class num_classes",
    "fit(metrics=['mrr']), or a CustomMetric, a function of the labels in the order of the ranking": "feval",
    "not available: labels have gains, and rows and queries have weights": "scale_pos_weight class_weight is_unbalance",
    "not available; feature_fraction is": "colsample_bylevel colsample_bynode feature_fraction_bynode",
    "query_fraction, in turns": "subsample_freq bagging_freq",
    "importances(kind), or feature_importances_": "importance_type",
    "all pairs are used; see horizon": "lambdarank_pair_method",
    "the gain of the metric: 'ndcg@10(gain=linear)'": "ndcg_exp_gain",
    "sr.clicks learns the bias of positions from click logs": (
        "position lambdarank_unbiased lambdarank_position_bias_regularization"
    ),
    "the first of fit(metrics=[…]) is watched": "first_metric_only",
    "always the same model": "deterministic force_row_wise force_col_wise",
    "history_, after fit": "evals_result",
    "predict(X, n_trees=50)": "num_iteration iteration_range ntree_limit ntree_end",
    "fit takes a Dask data frame, or data in parts, and trains on the workers of a cluster": (
        "tree_learner num_machines machines machine_list_filename local_listen_port"
    ),
    "contributions(X)": "pred_contrib pred_contribs",
    "apply(X)": "pred_leaf",
    "scores are never transformed": "raw_score output_margin prediction_type",
    "sr.baselines.RandomForest for random forests; otherwise one kind of boosting, on the CPU; document_fraction "
    "prefers large gradients, as GOSS does": (
        "boosting_type boosting booster tree_method device device_type task_type data_sample_strategy"
    ),
}
"""Advice for arguments that have no counterpart of the same meaning."""

_ATTRIBUTES = {
    "best_round_": "best_iteration_ best_iteration best_ntree_limit",
    "history_, what was measured after every round; best_round_ is the best one": (
        "best_score_ best_score evals_result_ evals_result get_evals_result"
    ),
    "save(path)": "save_model save_raw",
    "sr.load(path), or sr.import_model(path) for a model of another library": "load_model",
    "importances() or importances('splits')": "feature_importance get_feature_importance get_score get_fscore",
    "model_": "booster_ get_booster",
    "n_rounds_": "n_estimators_ n_iter_ tree_count_ num_trees num_boosted_rounds",
    "feature_names_in_": "feature_name_ feature_name feature_names_",
    "export(path, to='c'), or another format": "dump_model",
}
"""Our attributes and methods of fitted rankers, and what they are called elsewhere."""

ATTRIBUTES = {theirs: ours for ours, names in _ATTRIBUTES.items() for theirs in names.split()}
ARGUMENTS = {theirs: ours for ours, names in _ARGUMENTS.items() for theirs in names.split()}
ADVICE = {theirs: advice for advice, names in _ADVICE.items() for theirs in names.split()}


def check_arguments(
    given: Iterable[str],
    known: Iterable[str],
    of: str,
    made: str = "",
    made_with: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Raise ArgumentError for arguments that are not known; it says what each of them is called here.

    Args:
        given: The names of the arguments that were given.
        known: Those that there are.
        of: The class or function that they were given to.
        made: For a method, the class; its arguments are often given to the method instead.
        made_with: The arguments of the class, by all names that it accepts.

    >>> from swaprank.peer_names import check_arguments
    >>> check_arguments(["subsample", "n_leafs"], ["n_leaves", "query_fraction"], "LambdaMART")
    Traceback (most recent call last):
    ...
    swaprank.errors.ArgumentError: LambdaMART has no argument 'subsample'; in swaprank: query_fraction or \
document_fraction. It has no argument 'n_leafs'; did you mean 'n_leaves'?
    """
    known = list(known)
    wrong = [name for name in given if name not in known]
    if wrong:
        whose = [of] + ["It"] * (len(wrong) - 1)
        hints = [
            f"in swaprank: {made}({made_with[name]}=…)." if name in made_with else _hint(name, known) for name in wrong
        ]
        said = zip(whose, wrong, hints, strict=True)
        raise ArgumentError(" ".join(f"{who} has no argument '{name}'; {hint}" for who, name, hint in said))


def _hint(name: str, known: list[str]) -> str:
    here = ARGUMENTS.get(name)
    if here is not None and any(word.rstrip(",") in known for word in here.split()):
        return f"in swaprank: {here}."
    if name in ADVICE:
        return f"in swaprank: {ADVICE[name]}."
    return did_you_mean(name, known)
