"""Training: a state, a compiled loop of steps, and the records it leaves."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int
from threadpoolctl import ThreadpoolController

from pio._compose import check, compose
from pio._config import PLUGINS, Config
from pio._errors import RunError
from pio._evaluate import prediction_errors
from pio._labels import read_labels
from pio._loss import Loss
from pio._model import Model, Params
from pio._optimizer import Optimizer
from pio._registry import Registry
from pio._sampling import PARAMETERS, Sampler, Source, stream
from pio._solutions import Progress, Solutions, solutions

# A host call takes about this long: short enough to answer Ctrl-C, long enough to cost nothing.
SECONDS = 0.5


class Sums(NamedTuple):
    """Sums since the last record, from which the next is made; `broken` is the first step whose loss is not finite."""

    loss: Float[Array, ""]
    squares: Mapping[str, Float[Array, ""]]
    steps: Int[Array, ""]
    broken: Int[Array, ""]


class TrainState(NamedTuple):
    """All that changes in training. Step n draws its batch from `fold_in(key, n)`, so no key is here."""

    params: Params
    optimizer: Any
    weighting: Any
    step: Int[Array, ""]
    sums: Sums


@dataclass(frozen=True)
class Record:
    """What is known after some step: means since the record before it, and the test error if it was measured."""

    step: int
    loss: float
    squares: Mapping[str, float]
    rate: float
    seconds: float
    points_per_second: float
    error: float | None = None
    median: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """One line of `metrics.jsonl`."""
        found = dataclasses.asdict(self)
        return {key: value for key, value in found.items() if value is not None}


class Moment(NamedTuple):
    """Where training is after one host call. Its state is gone when the next is asked for."""

    state: TrainState
    step: int
    seconds: float
    record: Record | None
    errors: Float[np.ndarray, " f"] | None = None


class Program(NamedTuple):
    """The compiled loop, how long it took to compile, and the bytes it needs."""

    advance: Callable[[TrainState, Source, Int[Array, ""]], TrainState]
    seconds: float
    bytes: int | None


@dataclass(frozen=True, eq=False)
class Trainer:
    """A config with its plugins made: everything about a run but its files.

    A loop around it trains:

        trainer = Trainer.of(config, pio.discover())
        for moment in trainer.run(trainer.init()):
            ...
    """

    config: Config
    model: Model
    loss: Loss
    optimizer: Optimizer
    sampler: Sampler

    @classmethod
    def of(cls, config: Config, registry: Registry) -> Trainer:
        train = config.train
        weighting = registry.make("weighting", *config.weighting)
        optimizer = registry.make("optimizer", *config.optimizer)
        model = model_of(config, registry)
        labels = None
        if config.data.file is not None:
            labels = read_labels(model.equation, config.data.file, config.data.sha256)
        with _precision(train.precision):
            measured = () if labels is None else tuple(labels.values)
            loss = Loss(model, weighting, train.rows, measured)
            functions = None if train.train_functions == "fresh" else train.train_functions
            sampler = Sampler(
                model.equation,
                loss.physics,
                config.sampling,
                functions,
                jnp.dtype(f"float{train.precision}"),
                labels,
                config.data.batch,
                train.hold,
            )
            check(model, weighting, sampler.rows)
        return cls(config, model, loss, optimizer, sampler)

    def reseeded(self, seed: int) -> Trainer:
        """The same with another seed, which no compiled program depends on."""
        train = dataclasses.replace(self.config.train, seed=seed)
        other = dataclasses.replace(self, config=dataclasses.replace(self.config, train=train))
        shared = ("program", "test", "shapes", "_transformation")
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k in shared})
        return other

    @property
    def precision(self) -> AbstractContextManager[Any]:
        """Numbers have the config's precision within, whatever the process is set to."""
        return _precision(self.config.train.precision)

    @cached_property
    def source(self) -> Source:
        with self.precision:
            return self.sampler.source(self.config.train.seed)

    @cached_property
    def _transformation(self) -> optax.GradientTransformationExtraArgs:
        return optax.with_extra_args_support(self.optimizer.transform(self.config.train.steps))

    def init(self, params: Params | None = None) -> TrainState:
        """The state before the first step, with these parameters or fresh ones."""
        with self.precision:
            key = stream(self.config.train.seed, PARAMETERS)
            state: TrainState = jax.jit(self._init)(key, self.source, params)
        return state

    @cached_property
    def shapes(self) -> TrainState:
        """The shapes and types of a state."""
        source = self.source
        with self.precision:
            shapes: TrainState = jax.eval_shape(self._init, stream(0, PARAMETERS), source, None)
        return shapes

    def _init(self, key: Array, source: Source, params: Params | None) -> TrainState:
        if params is None:
            params = self.model.init(key, self.sampler.dtype)
        rows = {name: self.sampler.rows[term] for name, term in self.loss.owners.items()}
        weighting = self.loss.weighting.init(rows)
        step = jnp.zeros((), jnp.int32)
        squares = jax.eval_shape(self._at(source, weighting, step), params)[0].squares
        sums = Sums(
            jnp.zeros((), self.sampler.dtype),
            {name: jnp.zeros((), square.dtype) for name, square in squares.items()},
            step,
            jnp.full((), -1, jnp.int32),
        )
        state = TrainState(params, self._transformation.init(params), weighting, step, sums)
        # A weak type would change after one step, and the loop asks for the same types throughout.
        strong: TrainState = jax.tree.map(lambda a: jax.lax.convert_element_type(a, a.dtype), state)
        return strong

    def _at(self, source: Source, weighting: Any, step: Array) -> Callable[[Params], Any]:
        """The loss at a step's batch, with its gradient, as a function of the parameters."""
        batches, rows = self.sampler.draw(source, step)
        return lambda params: self.loss.value_and_grad(params, weighting, batches, step, rows)

    def _step(self, state: TrainState, source: Source) -> TrainState:
        evaluate = self._at(source, state.weighting, state.step)
        outcome, grads = evaluate(state.params)
        updates, optimizer = self._transformation.update(
            grads,
            state.optimizer,
            state.params,
            value=outcome.loss,
            grad=grads,
            value_fn=lambda params: evaluate(params)[0].loss,
        )
        first = (state.sums.broken < 0) & ~jnp.isfinite(outcome.loss)
        sums = Sums(
            state.sums.loss + outcome.loss,
            jax.tree.map(jnp.add, state.sums.squares, dict(outcome.squares)),
            state.sums.steps + 1,
            jnp.where(first, state.step, state.sums.broken),
        )
        params = optax.apply_updates(state.params, updates)
        return TrainState(params, optimizer, outcome.weighting, state.step + 1, sums)

    @cached_property
    def program(self) -> Program:
        """Compiled when first asked for."""

        # The number of steps is an argument, so one program does any number of them: a resumed run, whose
        # host calls fall elsewhere, then does the very same arithmetic.
        def advance(state: TrainState, source: Source, count: Array) -> TrainState:
            state = jax.lax.fori_loop(0, count, lambda _, s: self._step(s, source), state)
            sound = [jnp.isfinite(a).all() for a in jax.tree.leaves(state.params)]
            late = (state.sums.broken < 0) & ~jnp.stack(sound).all()
            broken = jnp.where(late, state.step - 1, state.sums.broken)
            return state._replace(sums=state.sums._replace(broken=broken))

        start = time.perf_counter()
        with self.precision:
            lowered = jax.jit(advance, donate_argnums=0).lower(
                self.shapes, self.source, jnp.zeros((), jnp.int32)
            )
            compiled = lowered.compile()
        analysis = compiled.memory_analysis()
        size = None
        if analysis is not None:
            size = analysis.temp_size_in_bytes + analysis.argument_size_in_bytes
        return Program(compiled, time.perf_counter() - start, size)

    def advance(self, state: TrainState, count: int) -> TrainState:
        """So many steps further. The state given is used up."""
        program = self.program
        with self.precision, self._blas.limit(limits=1, user_api="blas"):
            after = program.advance(state, self.source, jnp.asarray(count, jnp.int32))
            jax.block_until_ready(after)
        return after

    @cached_property
    def _blas(self) -> ThreadpoolController:
        # JAX borrows SciPy's LAPACK for factorisations. Its threads and XLA's would wait for each other:
        # a QR of 128 × 128 takes 0.4 ms with one of them, and 2 ms or more with two on two cores. It is
        # looked for after the program is compiled, by when it is loaded.
        return ThreadpoolController()

    def run(self, state: TrainState, seconds: float = 0.0) -> Iterator[Moment]:
        """Train to the end, with a moment after every host call.

        `seconds` were spent training before. Records come at steps that depend on nothing but the config.
        """
        step, steps = int(state.step), self.config.train.steps
        _ = self.program
        chunk = 1
        while step < steps:
            taken = min(step + chunk, self._next(step)) - step
            start = time.perf_counter()
            state = self.advance(state, taken)
            spent = time.perf_counter() - start
            seconds += spent
            step += taken
            chunk = max(1, min(4 * chunk, round(SECONDS * taken / spent)))
            self._check(state)
            record = errors = None
            if self.evaluates_at(step):
                errors = self.errors(state.params)
            if self.records_at(step):
                speed = self.sampler.points * taken / spent
                record = self._record(state, seconds, speed, errors)
                zero = jax.tree.map(jnp.zeros_like, state.sums)
                state = state._replace(sums=zero._replace(broken=state.sums.broken))
            yield Moment(state, step, seconds, record, errors)

    # How often: records every 50 steps, or 200 in a short run; evaluations as often as the config says.

    @property
    def _intervals(self) -> tuple[int, int]:
        train = self.config.train
        return max(1, min(50, train.steps // 200)), max(10, -(-train.steps // train.evaluations))

    def _next(self, step: int) -> int:
        return min(self.config.train.steps, *((step // n + 1) * n for n in self._intervals))

    def records_at(self, step: int) -> bool:
        return step == self.config.train.steps or any(step % n == 0 for n in self._intervals)

    def evaluates_at(self, step: int) -> bool:
        return step == self.config.train.steps or step % self._intervals[1] == 0

    @property
    def evaluations(self) -> int:
        """How often the test error is measured in a whole run."""
        return -(-self.config.train.steps // self._intervals[1])

    def _record(
        self, state: TrainState, seconds: float, speed: float, errors: np.ndarray | None
    ) -> Record:
        step, sums = int(state.step), jax.device_get(state.sums)
        count = max(int(sums.steps), 1)
        with self.precision:
            rate = float(self.optimizer.rate(step - 1, self.config.train.steps))
        return Record(
            step=step,
            loss=float(sums.loss) / count,
            squares={name: float(square) / count for name, square in sums.squares.items()},
            rate=rate,
            seconds=seconds,
            points_per_second=speed,
            error=None if errors is None else float(errors.mean()),
            median=None if errors is None else float(np.median(errors)),
        )

    def _check(self, state: TrainState) -> None:
        broken = int(state.sums.broken)
        if broken < 0:
            return
        rate = self.config.optimizer.options.get("learning_rate")
        usual = getattr(type(self.optimizer), "learning_rate", None)
        lower = "a gentler optimizer"
        if rate:
            # A third of a rate that is out of all proportion would be so too.
            gentle = min(rate / 3, usual) if isinstance(usual, float) else rate / 3
            lower = f"--set optimizer.learning_rate={gentle:.1g}"
        more = " or --precision 64" if self.config.train.precision == 32 else ""
        raise RunError(
            f"training diverged at step {broken}: the loss is not finite. Try {lower}{more}."
        )

    # ------------------------------------------------------------------------------------------
    # The test error

    @cached_property
    def test(self) -> Solutions:
        """The test set: the same for every seed."""
        return self.prepare()

    def prepare(self, progress: Progress | None = None) -> Solutions:
        """Find the test set, or make it, which may take a while."""
        functions = self.config.train.test_functions
        found = solutions(self.model.equation, functions, progress=progress)
        self.__dict__["test"] = found
        return found

    def errors(self, params: Params) -> Float[np.ndarray, " f"]:
        """The relative L2 error of each test function."""
        return prediction_errors(self.model, params, self.test)


def model_of(config: Config, registry: Registry) -> Model:
    """The model that a config describes."""
    names = (config.equation.name, config.arch.name, config.embedding.name)
    options = {kind: getattr(config, section).options for section, kind in PLUGINS.items()}
    with _precision(config.train.precision):
        hard = config.train.constraints == "hard"
        return compose(registry, *names, options, hard=hard, centred=config.train.centred)


def shapes_of(model: Model, config: Config) -> Params:
    """The shapes and types of its parameters."""
    dtype = jnp.dtype(f"float{config.train.precision}")
    with _precision(config.train.precision):
        return jax.eval_shape(lambda key: model.init(key, dtype), stream(0, PARAMETERS))


def _precision(bits: int) -> AbstractContextManager[Any]:
    context: AbstractContextManager[Any] = jax.enable_x64(bits == 64)
    return context
