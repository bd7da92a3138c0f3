"""What we supply: one function a kind, one row a name."""

from __future__ import annotations

from pio import Spec, hookimpl


@hookimpl
def pio_equations() -> dict[str, Spec]:
    home = "pio_plugins.equations"
    return {
        "advection": Spec(f"{home}.advection:Advection", "s_t + u(x) s_x = 0"),
        "diffusion-reaction": Spec(
            f"{home}.diffusion_reaction:DiffusionReaction", "s_t = D s_xx + k s² + u(x)"
        ),
        "burgers": Spec(f"{home}.burgers:Burgers", "s_t + s s_x = ν s_xx, periodic"),
        "kdv": Spec(f"{home}.kdv:KdV", "s_t + s s_x + δ² s_xxx = 0, periodic"),
    }


@hookimpl
def pio_architectures() -> dict[str, Spec]:
    home = "pio_plugins.architectures"
    rows = {
        "vanilla": "branch u; trunk t, x",
        "bx": "branch u, x; trunk t, x",
        "tl": "branch u; trunk t, x, u(x)",
        "bxtl": "branch u, x; trunk t, x, u(x)",
        "tg": "branch u; trunk t, x, u",
        "bxtg": "branch u, x; trunk t, x, u",
        "tf": "branch u; trunk t, x, û",
        "bxtf": "branch u, x; trunk t, x, û",
        "tn": "branch u; trunk t, x, u around x",
        "bxtn": "branch u, x; trunk t, x, u around x",
    }
    table = {
        name: Spec(f"{home}.deeponet:DeepONet", f"DeepONet: {summary}", {"variant": name})
        for name, summary in rows.items()
    }
    gated = Spec(f"{home}.modified:Modified", "DeepONet with two encoders that gate every layer")
    return {**table, "modified": gated}


@hookimpl
def pio_embeddings() -> dict[str, Spec]:
    home = "pio_plugins.embeddings"
    return {
        "fourier": Spec(f"{home}.fourier:Fourier", "harmonics of the periodic coordinates"),
        "cosine": Spec(f"{home}.cosine:Cosine", "cosines in space, flat at both ends: no flux"),
        "random-fourier": Spec(
            f"{home}.random_fourier:RandomFourier", "random waves in all coordinates jointly"
        ),
        "none": Spec(f"{home}.none:Identity", "coordinates as they are"),
    }


@hookimpl
def pio_weightings() -> dict[str, Spec]:
    home = "pio_plugins.weightings"
    kernel = f"{home}.kernel:Kernel"
    return {
        "fixed": Spec(f"{home}.fixed:Fixed", "a constant per term"),
        "ck": Spec(kernel, "√(K_max / K) by the conjugate kernel, at each point", {"kind": "ck"}),
        "ntk": Spec(kernel, "√(K_max / K) by the tangent kernel, at each point", {"kind": "ntk"}),
        "brdr": Spec(f"{home}.brdr:BRDR", "more where residuals fall slowly, per frozen point"),
        "relative": Spec(f"{home}.relative:Relative", "every function alike, however large"),
        "balanced": Spec(f"{home}.balanced:Balanced", "equal gradient norms of all terms"),
        "causal": Spec(f"{home}.causal:Causal", "earlier times first"),
    }


@hookimpl
def pio_optimizers() -> dict[str, Spec]:
    home = "pio_plugins.optimizers"
    return {
        "adamw": Spec(f"{home}.adamw:AdamW", "Adam with weight decay, as published"),
        "soap": Spec(f"{home}.soap:SOAP", "Adam in the eigenbasis of Shampoo's preconditioner"),
        "lbfgs": Spec(f"{home}.lbfgs:LBFGS", "quasi-Newton, for a batch that never changes"),
        "muon": Spec(f"{home}.muon:Muon", "momentum with orthogonal steps"),
    }


@hookimpl
def pio_trackers() -> dict[str, Spec]:
    home = "pio_plugins.trackers"
    return {
        "tensorboard": Spec(
            f"{home}.tensorboard:TensorBoard", "event files in the run's directory"
        ),
        "wandb": Spec(f"{home}.wandb:WandB", "Weights & Biases"),
        "mlflow": Spec(f"{home}.mlflow:MLflow", "an MLflow tracking server, or a local directory"),
    }
