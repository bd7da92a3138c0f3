"""Fisher–KPP for pio. The equation needs JAX, so it is in a module that is imported when used."""

import pio


@pio.hookimpl
def pio_equations():
    return {"fisher": pio.Spec("pio_fisher.fisher:Fisher", "s_t = D s_xx + r s (1 − s), no flux")}
