"""Rankers that train trees: everything except the objective."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from swaprank.arrays import Floats
from swaprank.collective import total
from swaprank.data.dataset import Dataset
from swaprank.errors import ModelFileError, ParameterError
from swaprank.models.ensemble import Ensemble, sum_of, trees_of, with_trees
from swaprank.models.forest import Forest
from swaprank.models.model import Model
from swaprank.objectives.goals import Goal
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.objectives.weighted_sum import set_weights
from swaprank.parameters import Bounds, check_parameter, parameter
from swaprank.rankers.forest_methods import ForestMethods
from swaprank.rankers.growth_trial import better_policy
from swaprank.rankers.learned import Capabilities, found
from swaprank.rankers.rounds import Measured, Patience, run_rounds
from swaprank.rankers.shared_parameters import EarlyStopping, RandomChoices
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained, base_model
from swaprank.rankers.tree_checkpoints import configuration_of, kept_trees, saving
from swaprank.rankers.tree_constraints import (
    InteractionConstraints,
    MonotoneConstraints,
    check_monotone,
    tree_constraints,
)
from swaprank.threads import thread_count
from swaprank.trees.boosting import Booster, GrownTree, ranking_scores, refitted_values
from swaprank.trees.constraints import Constraints
from swaprank.trees.routing import add_tree_scores
from swaprank.trees.tree import make_forest
from swaprank.trees.tree_rules import GrowPolicy, GrowthRules, TreeRules, default_document_fraction, of_round

USUAL_TREES = 300
"""How many trees are grown if nothing tells when to stop."""
MOST_TREES = 2000
"""How many trees early stopping may choose from."""


class Facts(NamedTuple):
    """What is known before training, and what parameters are chosen by."""

    n_documents: int
    n_trees: int
    """At most."""
    is_constrained: bool
    """There are constraints, or categories."""
    before: Mapping[str, Any] | None
    """What was chosen for the base ranker; None if training starts from scores of 0."""


class TreeRanker(GrowthRules, EarlyStopping, RandomChoices, ForestMethods, TrainableRanker):
    """A forest of trees that are grown one after the other."""

    can: ClassVar[Capabilities] = Capabilities(
        models=(Forest, Ensemble), round_name="tree", rounds_parameter="n_trees", categories=True, workers=True
    )
    boosts: ClassVar[bool] = True
    """True if a tree starts from the scores of the trees before it."""
    n_trees: int | None = parameter(
        default=None,
        low=0,
        high=10**7,
        whole=True,
        tuned_at=MOST_TREES,
        also="n_estimators num_boost_round num_iterations num_trees num_round iterations n_iter",
        text=f"Maximum number of trees. If None: {MOST_TREES:,} if early stopping has a validation set to watch, and "
        f"{USUAL_TREES} otherwise.",
    )
    early_stopping_rounds: Patience = parameter(
        default="auto",
        words=("auto",),
        optional=True,
        tuned_at="auto",
        text="Stop if the watched metric has not improved for this many rounds, and keep the best one. A number needs "
        'a validation set. "auto": stop if there is one, after 100 rounds, or half as many as the best round needed if '
        "that is more. None: never stop; the best round is kept in any case.",
    )
    monotone_constraints: MonotoneConstraints | None = parameter(
        default=None,
        also="monotonic_cst monotone_constraint mono",
        last=True,
        text="1 for each feature with which scores must never fall, -1 for those with which they must never rise: by "
        'name, as {"authority": 1, "spam": -1}, or a list of one of -1, 0 and 1 per feature. Missing values have no '
        "order.",
    )
    interaction_constraints: InteractionConstraints | None = parameter(
        default=None,
        also="interaction_cst",
        last=True,
        text='Groups of features, by name or position, as [["bm25", "clicks"], ["age", "price"]]: all features on the '
        "path from the root of a tree to a leaf are of one group. A feature in no group is alone in a group of its "
        "own. Holds for new trees, not for those of a base ranker.",
    )
    base_ranker: Any = parameter(
        default=None,
        text="A fitted ranker of any kind, to whose scores the trees are added: the model has both. If it is made of "
        "trees, such as LambdaMART or MART, training continues with them.",
    )

    chosen_ = found(dict)
    """Values that were chosen where a parameter is None, by its name."""

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective that the trees minimize."""

    def _chosen_objective(self, chosen: Mapping[str, Any]) -> Objective:
        """The objective with what was chosen for the data."""
        return self._objective()

    def _goals(self) -> Sequence[Goal]:
        """The goals beside the metric."""
        return ()

    def _fit(self, request: FitRequest) -> Trained:
        data, collective = request.data, request.collective
        start = self._start(request)

        def start_scores(other: Dataset) -> Floats:
            zero = np.zeros(len(other)) if start is None else self._scores_by(start, other)
            return self._plus_base_score(zero, other)

        goals = self._goals()
        measured = Measured(request.valid, request.metrics, start_scores, self.n_threads, collective, goals)
        scores = np.array(data.by_query(start_scores(data)))
        constraints = self._constraints(data.feature_names, data.categories)
        starts = start is not None or total(collective, int(data.base_score is not None)) > 0
        facts = Facts(
            total(collective, len(data)),
            self._most_trees(measured.watched is not None),
            bool(len(constraints.monotone) or len(constraints.groups) or data.categories),
            getattr(request.base, "chosen_", {}) if starts else None,
        )
        policies = self._policies(facts)
        chosen = self._choose(facts, policies[0])
        rules = self._rules(chosen)
        booster = Booster(data, scores, rules, request.seed, self.n_threads, constraints, collective)
        objective = self._chosen_objective(chosen).bind_share(
            data, random_state=request.seed, n_threads=self.n_threads, collective=collective
        )
        n_start = 0 if start is None else start.n_stages
        if starts:
            measured.measure_start()
        if len(policies) > 1:
            tried = {policy: self._rules(self._choose(facts, policy)) for policy in policies}
            policy = better_policy(booster, objective, self.training_metric(), data, tried, collective)
            chosen, booster.rules = self._choose(facts, policy), tried[policy]
        grown, interrupted = self._boost(request, booster, objective, measured, n_start, facts.n_trees)
        trees = [each.forest for each in grown]
        measured.drop_partial_round()
        kept = len(trees) if measured.best_round is None else measured.best_round
        measured.warn_of_goals(kept)
        forest = self._as_model(trees[:kept], data.n_features)
        model = forest if start is None else sum_of(start, forest)
        chosen |= {} if self.n_trees is not None else {"n_trees": facts.n_trees}
        return Trained(model, measured.history, len(trees), kept, interrupted, {"chosen": chosen}, booster.bins)

    def _start(self, request: FitRequest) -> Model | None:
        """The model that training starts from, which must not break the constraints."""
        if request.base is None:
            return None
        data = request.data
        start = base_model(request.base, Model, "a fitted ranker", data.n_features)  # type: ignore[type-abstract]
        monotone = self._constraints(data.feature_names, data.categories).monotone
        if len(monotone):
            check_monotone(start, monotone, data.feature_names)
        return start

    def _as_model(self, trees: Sequence[Forest], n_features: int) -> Forest:
        """The trees that were grown, as one model."""
        return make_forest(trees, n_features)

    def _step(self, number: int, rules: TreeRules) -> float:
        """The factor of the leaf values of a tree, from 1, in training."""
        return float(of_round(rules.learning_rate, number))

    def _refit_step(self, number: int, rules: TreeRules) -> float:
        """The factor of the leaf values of a tree, from 1, in the model."""
        return self._step(number, rules)

    def _policies(self, facts: Facts) -> tuple[GrowPolicy, ...]:
        """How trees may grow; the data chooses if there are several ways."""
        if self.grow_policy == "symmetric" and facts.is_constrained:
            raise ParameterError(
                "grow_policy='symmetric' takes neither categorical features nor constraints: use grow_policy="
                "'leafwise'."
            )
        return (self.grow_policy or "leafwise",)

    def _choose(self, facts: Facts, policy: GrowPolicy) -> dict[str, Any]:
        """Choose values where a parameter is None, by its name, for trees that grow in this way."""
        given = self.document_fraction is not None
        return {} if given else {"document_fraction": default_document_fraction(facts.n_documents)}

    def _most_trees(self, is_watched: bool) -> int:
        """The maximum number of trees, chosen if it is not given."""
        stops = is_watched and self.early_stopping_rounds is not None
        return (MOST_TREES if stops else USUAL_TREES) if self.n_trees is None else int(self.n_trees)

    def _rules(self, chosen: Mapping[str, Any]) -> TreeRules:
        given = {name: getattr(self, name) for name in TreeRules.declared if name in self.declared}
        return TreeRules(**{**given, **{name: value for name, value in chosen.items() if name in given}})

    def _check_learned(self) -> None:
        if trees_of(self.model_) is None:
            raise ModelFileError(f"it holds {self.size_}, which is no model of a {self.kind}.")
        for name, value in self.chosen_.items():
            self.declared[name].check(name, value)

    def _constraints(self, names: Sequence[str], categories: Mapping[str, Any]) -> Constraints:
        return tree_constraints(self.monotone_constraints, self.interaction_constraints, names, categories)

    def _boost(
        self,
        request: FitRequest,
        booster: Booster,
        objective: BoundObjective,
        measured: Measured,
        n_start: int,
        n_trees: int,
    ) -> tuple[list[GrownTree], bool]:
        """Grow the trees; returns them, and whether Ctrl-C ended training."""
        trees: list[GrownTree] = []
        start = None if self.boosts else booster.scores.copy()
        add_to_measured = self._measuring(measured, booster.n_threads)
        configuration = configuration_of(self, request, booster, measured)
        for known in kept_trees(configuration, request, booster, measured, n_trees):
            trees.append(known)
            booster.add_known_tree(known)
            add_to_measured(len(trees), known.forest)

        def add_tree(number: int) -> None:
            if start is not None:
                booster.scores[:] = start
            if weights := measured.goal_weights():
                set_weights(objective, [1.0, *weights])
            rate, n_leaves = self._step(number, booster.rules), int(of_round(booster.rules.n_leaves, number))
            trees.append(booster.add_tree(objective, n_start + number, rate, n_leaves))
            add_to_measured(number, trees[-1].forest)

        patience, n_done = self.early_stopping_rounds, len(trees)
        with saving(configuration, request, booster, measured, trees) as own:
            # First the checkpoint: a callback of the user may raise.
            callbacks = [*own, *request.callbacks]
            interrupted = run_rounds(n_trees, add_tree, measured, callbacks, patience, n_done=n_done)
        return trees, interrupted

    def _measuring(self, measured: Measured, n_threads: int) -> Callable[[int, Forest], None]:
        """Return a function that adds a tree, numbered from 1, to the scores of the sets that are measured."""

        def add(number: int, tree: Forest) -> None:
            for name, other in measured.sets.items():
                add_tree_scores(tree, other, n_threads, measured.scores[name])

        return add

    def refit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        decay_rate: float = 0.9,
    ) -> Self:
        """A new ranker with the same trees, and leaf values for other data.

        The splits stay. Tree by tree, the value of a leaf becomes `decay_rate` x the old value + (1 - `decay_rate`) x
        the Newton step of the documents of this data in the leaf, all of them. A leaf without documents
        keeps its value, and so does a base ranker. The numbers of documents in the trees stay those of
        training. This ranker does not change.

        Args:
            X: A Dataset, or a feature matrix together with y and qid.
            y: Labels, one per row.
            qid: Query ids, one per row.
            group: Instead of qid: the number of rows of each query.
            sample_weight: How much each row counts.
            decay_rate: The share of the old values, from 0 to 1.

        >>> import swaprank as sr
        >>> last_year, this_year = sr.datasets.random_net((50, 20), n_features=5, random_state=0)
        >>> ranker = sr.LambdaMART(n_trees=10).fit(last_year)
        >>> again = ranker.refit(this_year, decay_rate=0.5)
        >>> (again.model_.threshold == ranker.model_.threshold).all(), again.score(this_year) > ranker.score(this_year)
        (np.True_, True)
        """
        self.check_fitted()
        self.check_parameters()
        check_parameter("decay_rate", decay_rate, Bounds(False, 0, 1))
        if any(goal.at_least is not None for goal in self._goals()):
            raise ParameterError("a model with a floor for a goal cannot be refitted: train it again.")
        data = self._judged(X, y, qid=qid, group=group, sample_weight=sample_weight).by_docid()
        n_base = self.n_trees_ - self.best_round_
        chosen = self._choose(Facts(len(data), self.n_trees_, False, self.chosen_), "leafwise")
        rules = self._rules(chosen)
        base, trees = self.trees_.part(0, n_base), self.trees_.part(n_base, self.n_trees_)
        base_scores = self._scores_by(with_trees(self.model_, base), data)
        start = np.array(data.by_query(self._plus_base_score(base_scores, data)))
        threads = thread_count(self.n_threads)

        def gradients_at(tree: int, scores: Floats) -> Floats:
            before, number = scores if self.boosts else start, n_base + tree + 1
            return ranking_scores(before, data.places, rules.score_noise, self.random_state_, number, threads)

        fitted = refitted_values(
            trees,
            [self._refit_step(number, rules) for number in range(1, trees.n_trees + 1)],
            data,
            start.copy(),
            self._chosen_objective(chosen).bind(data, random_state=self.random_state_, n_threads=self.n_threads),
            rules,
            float(decay_rate),
            self._constraints(data.feature_names, data.categories).monotone,
            self.n_threads,
            gradients_at,
        )
        forest = replace(self.trees_, leaf_value=np.concatenate((base.leaf_value, fitted)))
        refitted = copy(self)
        refitted.learned_ = replace(self.learned_, model=with_trees(self.model_, forest), history={}, calibration=None)
        return refitted
