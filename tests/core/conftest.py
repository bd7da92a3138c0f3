"""What tests of figures look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox


@pytest.fixture
def boxes() -> Callable[[Figure], list[Bbox]]:
    """`boxes(figure)`: where its words are."""

    def boxes(figure: Figure) -> list[Bbox]:
        """The places of all words on a figure, once drawn."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.text import Text

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        # matplotlib keeps labels of ticks outside of what is seen; these are not drawn.
        unseen = {
            label
            for axes in figure.axes
            for axis in (axes.xaxis, axes.yaxis)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
            if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
            for label in (tick.label1, tick.label2)
        }
        words = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
        return [t.get_window_extent(canvas.get_renderer()) for t in words if t not in unseen]

    return boxes
