"""Progress of training, on stderr: drawn over itself on a terminal, in lines elsewhere."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pio._train import Moment, Record

# Seconds between plain lines that report no test error.
QUIET = 15.0


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 05 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    seconds = round(seconds)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60:02d} min"
    return f"{minutes} min {seconds % 60:02d} s" if minutes else f"{seconds} s"


class Display:
    """What a watcher sees. `say` takes notes, `tick` moments, `log` records."""

    def __init__(self, title: str, steps: int) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)
        self.title, self.steps = title, steps
        self.record: Record | None = None
        self.measured: Record | None = None
        self.first: tuple[float, int] | None = None
        self.last_line = 0.0
        self.live: Any = None
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            from rich.live import Live
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self.bar = Progress(*columns, console=self.console)
            self.task = self.bar.add_task(self.title, total=self.steps, left="")
            self.live = Live(self.bar, console=self.console, refresh_per_second=4)
            self.live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.live is not None:
            self.live.__exit__(*error)

    def say(self, text: str) -> None:
        self.console.print(text, style="dim", highlight=False, soft_wrap=True)

    def tick(self, moment: Moment) -> None:
        if self.first is None:
            self.first = (time.monotonic(), moment.step)
        if self.bar is not None:
            self.bar.update(self.task, completed=moment.step, left=self._left(moment.step))

    def log(self, record: Record) -> None:
        self.record = record
        if record.error is not None:
            self.measured = record
        if self.live is not None:
            from rich.console import Group
            from rich.text import Text

            self.live.update(Group(self.bar, Text(self._line(record))))
        elif record.error is not None or time.monotonic() - self.last_line > QUIET:
            self.last_line = time.monotonic()
            left = self._left(record.step)
            click.echo(f"step {record.step}/{self.steps}  {self._line(record)}  {left}", err=True)

    def _line(self, record: Record) -> str:
        parts = [f"loss {record.loss:.3e}"]
        if len(record.squares) > 1:
            each = ", ".join(f"{name} {value:.1e}" for name, value in record.squares.items())
            parts.append(f"({each})")
        seen = self.measured
        if seen is not None and seen.error is not None and seen.median is not None:
            parts.append(f"test error {seen.error:.2%} (median {seen.median:.2%})")
        parts.append(f"rate {record.rate:.1e}")
        parts.append(f"{record.points_per_second:.2g} points/s")
        return "  ".join(parts)

    def _left(self, step: int) -> str:
        if self.first is None or step <= self.first[1]:
            return ""
        since, start = self.first
        return f"{duration((time.monotonic() - since) * (self.steps - step) / (step - start))} left"


# Whether a signal has come since `terminable` was entered.
_asked = threading.Event()


@contextlib.contextmanager
def interruptible(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM has come, here or shortly before. A second one stops at once."""
    come = threading.Event()
    if _asked.is_set():
        come.set()
    if threading.current_thread() is not threading.main_thread():
        yield come.is_set
        return

    def handle(number: int, frame: Any) -> None:
        del frame
        if come.is_set():
            raise KeyboardInterrupt
        come.set()
        say(f"{signal.Signals(number).name}: writing a checkpoint …")

    before = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield come.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does.

    An exception raised by a handler is lost where it meets a callback of the garbage collector, of which JAX has
    one. So the signal is also kept in mind: `asked` tells, and what runs long should look at it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        del number, frame
        _asked.set()
        raise KeyboardInterrupt

    _asked.clear()
    before = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _asked.clear()


def asked() -> bool:
    """Whether Ctrl-C or SIGTERM has come, outside of what is `interruptible`."""
    return _asked.is_set()
