"""What an optimiser adds to a step: its processor time beside the gradient's, in one process.

    python benchmarks/optimizers.py [--steps 100]

The model is that of the laptop recipe: KdV, bxtg, 64 wide, 5 deep, 4 096 points, single precision.
Shares are of processor time, which neighbours on the machine disturb less than the clock.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import optax
from threadpoolctl import threadpool_limits

import pio


def seconds(function, *arguments, repeat: int) -> float:
    """Processor seconds of one call, the least of some, without compilation."""
    jax.block_until_ready(function(*arguments))
    spent = []
    for _ in range(repeat):
        start = time.process_time()
        with threadpool_limits(1, user_api="blas"):  # as in training
            jax.block_until_ready(function(*arguments))
        spent.append(time.process_time() - start)
    return min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    steps = parser.parse_args().steps
    registry = pio.discover()
    equation = registry.make("equation", "kdv")
    architecture = registry.make("architecture", "bxtg", {"width": 64, "depth": 5})
    model = pio.Model(equation, architecture, registry.make("embedding", "fourier"), hard=True)
    params = model.init(jax.random.key(0), jnp.float32)
    loss = pio.Loss(model, registry.make("weighting", "fixed"))
    u = equation.inputs.sample(jax.random.key(1), 32).astype(jnp.float32)
    x, t = jnp.linspace(0, 6.28, 16), jnp.linspace(0, 1, 8)
    batches = {name: pio.Batch.block(u, x=x, t=t) for name in loss.terms}
    state = loss.weighting.init(dict.fromkeys(loss.terms, 0))

    gradient = jax.jit(lambda p: loss.value_and_grad(p, state, batches)[1])
    base = seconds(gradient, params, repeat=10)
    grads = gradient(params)
    print(f"{'gradient':28} {1e3 * base:8.2f} ms")
    choices = [
        ("adamw", {}),
        ("muon", {}),
        *(("soap", {"precondition_frequency": k}) for k in (1, 5, 10, 20)),
    ]
    for name, options in choices:
        transformation = registry.make("optimizer", name, options).transform(steps)

        def run(params, grads, transformation=transformation):
            def step(carry, key):
                params, state = carry
                # Gradients that vary, as they do in training.
                noise = 1 + 0.1 * jax.random.normal(key, ())
                varied = jax.tree.map(lambda g: g * noise.astype(g.dtype), grads)
                updates, state = transformation.update(varied, state, params)
                return (optax.apply_updates(params, updates), state), None

            keys = jax.random.split(jax.random.key(0), steps)
            return jax.lax.scan(step, (params, transformation.init(params)), keys)[0]

        spent = seconds(jax.jit(run), params, grads, repeat=3) / steps
        label = " ".join([name, *(f"{k}={v}" for k, v in options.items())])
        print(f"{label:28} {1e3 * spent:8.2f} ms  {spent / base:6.1%} of the gradient")


if __name__ == "__main__":
    main()
