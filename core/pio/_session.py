"""A session: training with its files, from the first step or from where it stopped."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pio._checkpoint import About
from pio._config import Config, resolve
from pio._errors import PioError, RunError
from pio._files import checksum
from pio._registry import Registry, discover
from pio._run import Run, create_run, load_run, read_model, require_vacant, take_over
from pio._train import Moment, Record, Trainer, TrainState


def follow(
    run: Run,
    *,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda text: None,
    tick: Callable[[Moment], None] = lambda moment: None,
) -> Iterator[Record]:
    """Train a run to its end, from its latest checkpoint if it has one. One that has ended is left as it is.

    `stop` is asked after the test set is made, after compiling and after every host call; once it says so,
    a checkpoint is written and the records end. `say` gets notes for the user, `tick` every moment, more of
    them than there are records.
    """
    if _ended(run):  # before anything is locked or written: it may lie where nothing can be
        say("this run has ended; nothing is left to do")
        return
    with run.locked():
        trainer = run.trainer
        if note := trainer.loss.note:
            say(note)
        steps = run.config.train.steps
        state, about = _begin(run, say)
        run.cut_metrics(about.step)
        last = _Status(run, about)
        last.write("running")
        saved, moment = time.monotonic(), None
        try:
            if not _prepare(trainer, say, stop):  # the checkpoint that it would go on from is there
                last.write("interrupted")
                return
            last.found["compile_seconds"] = trainer.program.seconds
            for moment in trainer.run(state, about.seconds):
                tick(moment)
                measured = None if moment.record is None else moment.record.error
                last.see(moment)
                halt = stop() and moment.step < steps
                if moment.record is not None:
                    run.append(moment.record)
                due = time.monotonic() - saved > run.config.run.checkpoint_seconds
                if due or halt or measured is not None:
                    run.checkpoints.save(moment.state, About(moment.step, moment.seconds, measured))
                    saved = time.monotonic()
                    last.write("running")
                if moment.record is not None:
                    yield moment.record
                if halt:
                    last.write("interrupted")
                    return
            params = state.params if moment is None else moment.state.params
            errors = None if moment is None else moment.errors
            run.write_model(params, steps)
            run.write_errors(trainer.errors(params) if errors is None else errors, trainer.test)
            last.write("done")
        except RunError as error:
            last.write("failed", message=str(error), quietly=True)
            kept = run.checkpoints.steps()
            where = f" The checkpoint of step {kept[-1]} is kept in {run.path}." if kept else ""
            raise RunError(f"{error}{where}") from error
        except (GeneratorExit, KeyboardInterrupt):
            last.write("interrupted", quietly=True)
            raise
        except BaseException as error:
            last.write("failed", message=f"{type(error).__name__}: {error}", quietly=True)
            raise


def _ended(run: Run) -> bool:
    """Whether everything that a run leaves at its end is there. Refuses a config that was changed since."""
    status = run.status
    if status["state"] != "done" or not (run.path / "errors.npz").exists():
        return False
    try:
        _, about = read_model(run.path / "model.safetensors")
    except PioError:
        return False
    run.require_config(about["config"])
    return bool(status.get("step") == run.config.train.steps)


class _StoppedError(Exception):
    """Someone wants to stop while the test set is made."""


def _prepare(trainer: Trainer, say: Callable[[str], None], stop: Callable[[], bool]) -> bool:
    """Have the test set and the program, and say what that took; false if it was stopped."""
    announced = False

    def progress(done: int, total: int) -> None:
        nonlocal announced
        if not announced and done < total:
            say(f"making the test set of {total} functions, which is kept …")
        announced = True
        if done < total and stop():
            raise _StoppedError

    try:
        trainer.prepare(progress)
    except _StoppedError:
        return False
    except RunError:
        raise
    except PioError as error:  # the command was right: this run cannot go on
        raise RunError(str(error)) from error
    if stop():
        return False
    if "program" not in vars(trainer):
        say("compiling …")
        say(f"compiled in {trainer.program.seconds:.1f} s")
    return not stop()


class _Status:
    """`status.json` as training goes on."""

    def __init__(self, run: Run, about: About) -> None:
        self.run = run
        known = [r for r in run.metrics() if r.get("error") is not None]
        self.found: dict[str, Any] = {"step": about.step, "seconds": about.seconds}
        if known:
            self.found |= {"error": known[-1]["error"], "median": known[-1].get("median")}

    def see(self, moment: Moment) -> None:
        self.found |= {"step": moment.step, "seconds": moment.seconds}
        if moment.record is not None:
            self.found["loss"] = moment.record.loss
            if moment.record.error is not None:
                self.found |= {"error": moment.record.error, "median": moment.record.median}

    def write(self, state: str, *, message: str | None = None, quietly: bool = False) -> None:
        more = {} if message is None else {"message": message}
        try:
            self.run.write_status(state, **self.found, **more)
        except RunError:
            if not quietly:  # an error is being reported already
                raise


def _begin(run: Run, say: Callable[[str], None]) -> tuple[TrainState, About]:
    """The state to go on from: the latest sound checkpoint, or the first state, which is then kept."""
    trainer = run.trainer
    found = run.checkpoints.latest(trainer.shapes, say)
    if found is not None:
        state, about = found
        with trainer.precision:
            say(f"continuing at step {about.step} of {run.config.train.steps}")
            return jax.tree.map(jnp.asarray, state), about
    if records := len(run.metrics()):
        say(
            f"run {run.path} has {records} records and no checkpoint to continue from; it starts over "
            "at step 0"
        )
    params = None
    if run.config.train.init_from is not None:
        theirs = _inheritance(trainer, run.registry)
        params, taken, left = take_over(trainer.init().params, theirs)
        path = run.config.train.init_from
        say(f"took over {len(taken)} of {len(taken) + len(left)} arrays from {path}")
        if left:
            say(f"fresh, for want of an equal name and shape there: {', '.join(left)}")
    state = trainer.init(params)
    run.checkpoints.save(state, About(0))
    return state, About(0)


def _inheritance(trainer: Trainer, registry: Registry) -> dict[str, np.ndarray]:
    """The arrays of the run to begin with: those the config knows, some of which fit."""
    path, sha256 = trainer.config.train.init_from, trainer.config.train.init_sha256
    assert path is not None
    source = load_run(path, registry)
    arrays = source.arrays()
    if sha256 is not None and checksum(arrays) != sha256:
        raise PioError(
            f"the parameters of run {path} have changed since they were chosen to begin with; put those "
            "back, or begin a new run with --init-from."
        )
    _, taken, left = take_over(trainer.shapes.params, arrays)
    if not taken:
        raise PioError(
            f"run {path} ({source.config.equation.name}, {source.config.arch.name}) has no parameter of "
            f"equal name and shape; it has {_some(arrays)}, and wanted are {_some(left)}. Begin with "
            "another run, or without --init-from."
        )
    return arrays


def _some(names: Iterable[str], most: int = 4) -> str:
    found = list(names)
    return ", ".join(found[:most]) + (", …" if len(found) > most else "")


def ready(config: Config, registry: Registry) -> Trainer:
    """A trainer, after every complaint that can be made before there is a directory."""
    trainer = Trainer.of(config, registry)
    _ = trainer.shapes  # what only shows when a step is traced, shows now
    if config.train.init_from is not None:
        _inheritance(trainer, registry)
    return trainer


class Estimate(NamedTuple):
    """What a run will cost."""

    parameters: int
    points: int
    compile_seconds: float
    step_seconds: float
    evaluation_seconds: float
    evaluations: int
    bytes: int | None

    def seconds(self, steps: int) -> float:
        """All in all."""
        return (
            self.compile_seconds
            + steps * self.step_seconds
            + self.evaluations * self.evaluation_seconds
        )


def estimate(
    trainer: Trainer, seconds: float = 3.0, *, stop: Callable[[], bool] = lambda: False
) -> Estimate:
    """Compile, and time some steps for about so many seconds. Nothing is kept of them.

    `stop` is asked after every host call; once it says so, this ends as Ctrl-C would end it.
    """
    state = trainer.init()
    count = sum(a.size for a in jax.tree.leaves(state.params))
    _ = trainer.program
    trainer.errors(state.params)  # makes the test set, and compiles
    start = time.perf_counter()
    trainer.errors(state.params)
    evaluation = time.perf_counter() - start
    state = trainer.advance(state, 1)
    done, spent, chunk = 0, 0.0, 1
    while spent < seconds:
        start = time.perf_counter()
        state = trainer.advance(state, chunk)
        spent += time.perf_counter() - start
        done += chunk
        if stop():
            raise KeyboardInterrupt
        chunk = max(1, min(2 * chunk, round((seconds - spent) * done / spent)))
    return Estimate(
        count,
        trainer.sampler.points,
        trainer.program.seconds,
        spent / done,
        evaluation,
        trainer.evaluations,
        trainer.program.bytes,
    )


def within(config: Config, registry: Registry, seconds: float) -> Config:
    """The config with as many steps as the time allows, start-up and evaluations included."""
    _require_time(seconds)
    start = time.perf_counter()
    cost = estimate(Trainer.of(config, registry), min(5.0, 0.05 * seconds))
    # The loop is compiled again, for a decay that ends with another step is another program.
    left = seconds - (time.perf_counter() - start) - cost.compile_seconds
    left -= config.train.evaluations * cost.evaluation_seconds
    steps = int(left / cost.step_seconds)
    if steps < 1:
        raise PioError(
            f"{seconds:g} s are too short: to start takes {seconds - left:.0f} s and a step "
            f"{cost.step_seconds:.2g} s. The test set and compiled programs are kept, so a second try starts "
            "sooner; or give more time, or --steps."
        )
    return dataclasses.replace(config, train=dataclasses.replace(config.train, steps=steps))


def _require_time(seconds: float) -> None:
    if not 0 < seconds < math.inf:
        raise PioError(f"a time to train for is a positive number of seconds (got {seconds:g}).")


def filling(
    config: Config,
    registry: Registry,
    seconds: float,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> Config:
    """The config with as many steps as can be taken in the time, which is that of training alone.

    Where several configs get the same time, none should pay for what only the first has to make,
    the test set and what the compiler keeps; so starting and measuring come on top.
    """
    _require_time(seconds)
    cost = estimate(Trainer.of(config, registry), min(5.0, 0.05 * seconds), stop=stop)
    steps = int(seconds / cost.step_seconds)
    if steps < 1:
        raise PioError(
            f"{seconds:g} s are too short: a step takes {cost.step_seconds:.2g} s; give more time, or --steps."
        )
    return dataclasses.replace(config, train=dataclasses.replace(config.train, steps=steps))


def train(
    equation: str | None = None,
    arch: str | None = None,
    *,
    preset: str | None = None,
    weighting: str | None = None,
    embedding: str | None = None,
    optimizer: str | None = None,
    seed: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    precision: int | None = None,
    init_from: str | PathLike[str] | None = None,
    data: str | PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    out: str | PathLike[str] | None = None,
    registry: Registry | None = None,
    on_record: Callable[[Record], None] = lambda record: None,
) -> Run:
    """Train an operator, as `pio train` does, and return its run.

        run = pio.train("kdv", "bxtg", preset="smoke", settings={"arch.width": 32})
        s = run.predict(u, t=[0.5, 1.0])

    Keywords are the flags of the command, `settings` its `--set`, `seconds` its `--time`.
    `on_record` is called with each `pio.Record`.
    """
    if steps is not None and seconds is not None:
        raise PioError("give steps or seconds, not both.")
    if seconds is not None:
        _require_time(seconds)
    if out is not None:
        require_vacant(Path(out))
    registry = discover() if registry is None else registry
    flags = {
        "equation.name": equation,
        "arch.name": arch,
        "preset": preset,
        "weighting.name": weighting,
        "embedding.name": embedding,
        "optimizer.name": optimizer,
        "train.seed": seed,
        "train.steps": steps,
        "train.precision": precision,
        "train.init_from": None if init_from is None else str(init_from),
        "data.file": None if data is None else str(data),
    }
    resolved = resolve(registry, config=config, settings=settings, flags=flags)
    ready(resolved, registry)
    if seconds is not None:
        resolved = within(resolved, registry, seconds)
    run = create_run(resolved, registry, out)
    for record in follow(run):
        on_record(record)
    return run


def resume(
    path: str | PathLike[str],
    *,
    registry: Registry | None = None,
    on_record: Callable[[Record], None] = lambda record: None,
) -> Run:
    """Continue a run to its end, bit for bit as if it had never stopped."""
    run = load_run(path, registry)
    for record in follow(run):
        on_record(record)
    return run
