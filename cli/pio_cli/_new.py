"""A new plugin: a small project that works as it is written, to be edited."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib import resources
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import NamedTuple

from pio._errors import PioError, suggestion

# kind: (what its pio.Spec says, how it is used once it is installed)
TEMPLATES: Mapping[str, tuple[str, str]] = {
    "equation": (
        "s_t + c s_x = ν s_xx, periodic",
        "pio train --equation $name --arch tl --time 1m",
    ),
    "architecture": (
        "DeepONet with residual layers",
        "pio train --equation burgers --arch $name --time 1m",
    ),
    "weighting": (
        "more for terms that fall slowly",
        "pio train --equation burgers --arch tl --weighting $name --time 1m",
    ),
    "embedding": (
        "Chebyshev polynomials of coordinates that are not periodic",
        "pio train --equation diffusion-reaction --arch tl --embedding $name --time 1m",
    ),
}


class Names(NamedTuple):
    """What a name is called in each place where it is needed."""

    kind: str
    name: str

    @classmethod
    def of(cls, kind: str, given: str) -> Names:
        if kind not in TEMPLATES:
            raise PioError(f"there is no template for a {kind}{suggestion(kind, TEMPLATES)}")
        name = re.sub(r"[_\s]+", "-", given.strip()).lower().removeprefix("pio-")
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
            raise PioError(
                f"{given!r} is no name for a plugin; use letters, digits and hyphens, and begin with a letter: "
                "allen-cahn."
            )
        return cls(kind, name)

    @property
    def distribution(self) -> str:
        return f"pio-{self.name}"

    @property
    def table(self) -> dict[str, str]:
        """The words that templates leave open."""
        module = self.name.replace("-", "_")
        noun = "".join(part.capitalize() for part in self.name.split("-"))
        summary, use = TEMPLATES[self.kind]
        return {
            "kind": self.kind,
            "name": self.name,
            "entry": self.name,
            "distribution": self.distribution,
            "package": f"pio_{module}",
            # No module may be called `lambda`, and no class `None`.
            "module": f"{module}_{self.kind}" if iskeyword(module) else module,
            "class_": noun + self.kind.capitalize() if iskeyword(noun) else noun,
            "title": self.name.replace("-", " ").capitalize(),
            "summary": summary,
            "use": Template(use).substitute(name=self.name),
        }

    @property
    def files(self) -> dict[str, str]:
        """Where each template goes."""
        package, module = (self.table[key] for key in ("package", "module"))
        return {
            "pyproject.toml": "pyproject.toml",
            "README.md": "README.md",
            "gitignore": ".gitignore",
            "hooks.py": f"{package}/__init__.py",
            f"{self.kind}.py": f"{package}/{module}.py",
            "test.py": f"tests/test_{module}.py",
        }


def write(names: Names, out: Path) -> list[Path]:
    """Write a project, whole or not at all, to a directory that is not there yet; the paths of its files."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PioError(f"{out} is there already, and is not written over; choose another --out.")
    home = resources.files("pio_cli") / "templates"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            for source, target in names.files.items():
                text = Template((home / f"{source}.in").read_text(encoding="utf-8"))
                path = part / target
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.substitute(names.table), encoding="utf-8")
            part.chmod(0o777 & ~_mask())
            if out.exists():
                out.rmdir()
            part.replace(out)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    except OSError as error:
        why = error.strerror or str(error)
        raise PioError(f"cannot write to {out}: {why}; choose another --out.") from error
    return [out / target for target in names.files.values()]


def _mask() -> int:
    """The permissions that the user withholds from new files; a temporary directory has fewer still."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
