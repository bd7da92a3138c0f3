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
        "none": Spec(f"{home}.none:Identity", "coordinates as they are"),
    }
