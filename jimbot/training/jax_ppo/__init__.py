"""The default learner: PPO in JAX, fused with JAX games and batched over every other game."""
