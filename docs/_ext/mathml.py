"""Formulas as MathML, which browsers draw by themselves: no script, no fonts from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def _draw(self: Any, node: nodes.Element, block: bool) -> None:
    tag = "div" if block else "span"
    self.body.append(self.starttag(node, tag, "", CLASS="math notranslate nohighlight"))
    self.body.append(tex2mathml(node.astext(), as_block=block))
    self.body.append(f"</{tag}>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer(
        "mathml",
        (lambda self, node: _draw(self, node, False), None),
        (lambda self, node: _draw(self, node, True), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
