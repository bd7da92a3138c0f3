"""Learn the solution operators of PDEs from their physics.

`import pio` is cheap: names are imported when first used, so that listing plugins or showing help
never waits for JAX.
"""

from __future__ import annotations

import importlib
from typing import Any

# One public name a line: where it lives. Sorted by module, then by name.
_HOME = {
    "contract": "_align",
    "Architecture": "_architecture",
    "Inputs": "_architecture",
    "Network": "_architecture",
    "Batch": "_batch",
    "Certificate": "_certificate",
    "certify": "_certificate",
    "relative_errors": "_certificate",
    "chebyshev": "_chebyshev",
    "Comparison": "_compare",
    "compare": "_compare",
    "check": "_compose",
    "compose": "_compose",
    "Config": "_config",
    "resolve": "_config",
    "Coordinate": "_domain",
    "Domain": "_domain",
    "Embedding": "_embedding",
    "Condition": "_equation",
    "Equation": "_equation",
    "Law": "_equation",
    "Reference": "_equation",
    "PioError": "_errors",
    "RunError": "_errors",
    "etdrk4": "_etdrk4",
    "Evaluation": "_evaluate",
    "Light": "_evaluate",
    "evaluate": "_evaluate",
    "light": "_evaluate",
    "predict": "_evaluate",
    "prediction_errors": "_evaluate",
    "Feature": "_features",
    "GaussianField": "_gaussian",
    "Spec": "_hooks",
    "hookimpl": "_hooks",
    "kernel": "_kernels",
    "with_kernel": "_kernels",
    "Labels": "_labels",
    "labels": "_labels",
    "read_labels": "_labels",
    "Affine": "_latents",
    "Latents": "_latents",
    "Join": "_layers",
    "glorot": "_layers",
    "Lifted": "_lifted",
    "Loss": "_loss",
    "Term": "_loss",
    "measured": "_measured",
    "Model": "_model",
    "Optimizer": "_optimizer",
    "Schedule": "_optimizer",
    "clipped": "_optimizer",
    "option": "_options",
    "PeriodicField": "_periodic",
    "power_law": "_periodic",
    "Plan": "_plan",
    "plan": "_plan",
    "Published": "_published",
    "Blocks": "_recipe",
    "Choice": "_recipe",
    "Recipe": "_recipe",
    "Tables": "_recipe",
    "Registry": "_registry",
    "discover": "_registry",
    "Report": "_report",
    "report": "_report",
    "Reproduction": "_reproduce",
    "conclude": "_reproduce",
    "reproduce": "_reproduce",
    "resample": "_resample",
    "Run": "_run",
    "load_run": "_run",
    "Sampler": "_sampling",
    "follow": "_session",
    "resume": "_session",
    "train": "_session",
    "Solutions": "_solutions",
    "solutions": "_solutions",
    "solve": "_solve",
    "FunctionSpace": "_space",
    "draw": "_space",
    "read": "_space",
    "Statistics": "_statistics",
    "statistics": "_statistics",
    "Study": "_study",
    "studies": "_study",
    "Tracker": "_tracker",
    "by_path": "_tracker",
    "extra": "_tracker",
    "scalars": "_tracker",
    "Record": "_train",
    "TrainState": "_train",
    "Trainer": "_train",
    "Variant": "_variant",
    "Verdict": "_verdict",
    "Residuals": "_weighting",
    "Weighting": "_weighting",
    "write_up": "_write_up",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"pio.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
