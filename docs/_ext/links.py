"""Links to public names: wherever a page says `pio.train` in code type, it leads to what that is."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import pio


class Links(SphinxTransform):
    """Wraps the names of `pio` in references, but not in headings and in links that are there."""

    default_priority = 500

    def apply(self) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            found = re.fullmatch(r"pio\.(\w+)(\(.*\))?", literal.astext())
            if found is None or found[1] not in pio.__all__:
                continue
            if isinstance(literal.parent, (nodes.title, nodes.reference, pending_xref)):
                continue
            link = pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=f"pio.{found[1]}",
                refdoc=self.env.docname,
                refexplicit=True,
                refwarn=True,
            )
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(Links)
    return {"parallel_read_safe": True}
