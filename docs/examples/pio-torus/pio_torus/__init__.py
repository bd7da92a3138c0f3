"""Heat on a torus, for pio. The equation needs JAX, so it is in a module that is imported when used."""

import pio


@pio.hookimpl
def pio_equations():
    return {"torus": pio.Spec("pio_torus.torus:Torus", "s_t = α (s_xx + s_yy), periodic")}
