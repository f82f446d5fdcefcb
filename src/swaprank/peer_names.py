"""What arguments of LightGBM, XGBoost and CatBoost are called here."""

from collections.abc import Iterable

from swaprank.errors import ArgumentError, did_you_mean

_PARAMETERS = {
    "n_leaves": "num_leaves max_leaves max_leaf_nodes num_leaf",
    "n_trees": "n_estimators num_boost_round num_iterations num_trees num_round iterations n_iter",
    "learning_rate": "eta shrinkage_rate lr",
    "min_docs_in_leaf": "min_child_samples min_data_in_leaf min_data min_samples_leaf",
    "l2": "reg_lambda lambda_l2 l2_leaf_reg l2_regularization",
    "min_gain": "min_split_gain min_gain_to_split min_split_loss gamma",
    "max_depth": "depth",
    "max_bins": "max_bin border_count",
    "feature_fraction": "colsample_bytree sub_feature rsm",
    "query_fraction or document_fraction": "subsample bagging_fraction sub_row bagging",
    "n_threads": "n_jobs nthread num_threads thread_count",
    "random_state": "seed random_seed bagging_seed",
    "early_stopping_rounds": "early_stopping_round od_wait",
    "sigma": "sigmoid lambdarank_sigmoid",
    "horizon": "lambdarank_truncation_level lambdarank_num_pair_per_sample truncation",
    "normalize": "lambdarank_norm lambdarank_normalization",
    "monotone_constraints": "monotonic_cst monotone_constraint mono",
    "interaction_constraints": "interaction_cst",
    "n_epochs": "max_iter epochs",
    "y": "label",
    "sample_weight or query_weight": "weight group_weight",
    "base_score": "init_score base_margin baseline",
    "categorical_features": "categorical_feature cat_features",
    "qid": "group_id query",
}
"""Our parameters, and their names elsewhere."""

_ADVICE = {
    "metric=sr.metrics.NDCG(10, gain=[0, 1, 3, 7]), with the gain of each label": "label_gain",
    "metric='ndcg@10', with the depth in the name; fit(metrics=[…]) measures more": "eval_at ndcg_eval_at",
    "metric='ndcg@10' is optimized; fit(metrics=[…]) is measured": "eval_metric loss_function",
    "fit(verbose=True) shows progress": "verbose verbosity silent verbose_eval",
    "fit(…, valid=…)": "eval_set valid_sets evals",
    "fit(valid={'name': data})": "eval_names valid_names",
    "valid=Dataset(X, y, qid=qid, sample_weight=…, base_score=…)": (
        "eval_sample_weight eval_init_score sample_weight_eval_set base_margin_eval_set"
    ),
    "fit(base_score=…), or a Dataset with base_score": "init_score base_margin baseline",
    "base, a fitted ranker that training continues": "init_model xgb_model",
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
    "not available: labels have gains, and rows and queries have weights": "scale_pos_weight class_weight is_unbalance",
    "not available; feature_fraction is": "colsample_bylevel colsample_bynode feature_fraction_bynode",
    "query_fraction, in turns": "subsample_freq bagging_freq",
    "importances(kind), or feature_importances_": "importance_type",
    "all pairs are used; see horizon": "lambdarank_pair_method",
    "the gain of the metric: 'ndcg@10(gain=linear)'": "ndcg_exp_gain",
    "not available: positions and their bias": "position lambdarank_unbiased lambdarank_position_bias_regularization",
    "the first of fit(metrics=[…]) is watched": "first_metric_only",
    "always the same model": "deterministic force_row_wise force_col_wise",
    "history_, after fit": "evals_result",
    "predict(X, n_trees=50)": "num_iteration iteration_range ntree_limit ntree_end",
    "contributions(X)": "pred_contrib pred_contribs",
    "apply(X)": "pred_leaf",
    "scores are never transformed": "raw_score output_margin prediction_type",
    "one kind of boosting, on the CPU; document_fraction prefers large gradients, as GOSS does": (
        "boosting_type boosting booster tree_method device device_type task_type data_sample_strategy"
    ),
}
"""What to do instead, for arguments that have no counterpart of the same meaning."""

PARAMETERS = {theirs: ours for ours, names in _PARAMETERS.items() for theirs in names.split()}
ADVICE = {theirs: advice for advice, names in _ADVICE.items() for theirs in names.split()}


def check_arguments(
    given: Iterable[str], known: Iterable[str], of: str, made: str = "", made_with: Iterable[str] = ()
) -> None:
    """Raise ArgumentError for an argument that is not known; it says what the argument is called here.

    Args:
        given: The names of the arguments that were given.
        known: Those that there are.
        of: The class or function that they were given to.
        made: For a method, the class; its arguments are often given to the method instead.
        made_with: The arguments of the class.

    >>> from swaprank.peer_names import check_arguments
    >>> check_arguments(["num_leaves"], ["n_leaves", "n_trees"], "LambdaMART")
    Traceback (most recent call last):
    ...
    swaprank.errors.ArgumentError: LambdaMART has no argument 'num_leaves'; in swaprank: n_leaves.
    """
    known, made_with = list(known), list(made_with)
    for name in given:
        if name not in known:
            here = PARAMETERS.get(name, name)
            if here in made_with:
                raise ArgumentError(f"{of} has no argument '{name}'; in swaprank: {made}({here}=…).")
            raise ArgumentError(f"{of} has no argument '{name}'; {_hint(name, known)}")


def _hint(name: str, known: list[str]) -> str:
    here = PARAMETERS.get(name)
    if here is not None and any(word in known for word in here.split()):
        return f"in swaprank: {here}."
    if name in ADVICE:
        return f"in swaprank: {ADVICE[name]}."
    return did_you_mean(name, known)
