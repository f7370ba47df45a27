"""Balatro ante by ante: a game ends when `max_ante` is beaten, and `max_ante` rises once that happens often enough.

The whole batch shares one curriculum, and a continued run goes on at the level it had reached. With
`config.use_curriculum = True` a trainer builds the same batch by itself; for a single environment the same rule is
`wrap_balatro_env(create_balatro_env(), use_curriculum=True)`.
"""

from jimbot.games import make
from jimbot.training.curriculum import AnteCurriculum, CurriculumGame
from jimbot.training.framework import create_trainer, get_default_config


def main(total_timesteps: int = 500_000, n_envs: int = 8, n_steps: int = 256, window: int = 100) -> int:
    curriculum = AnteCurriculum(initial_max_ante=1, success_threshold=0.5, window=window)
    config = get_default_config("PPO")
    config.total_timesteps = total_timesteps
    config.n_envs = n_envs
    config.run_name = "example-curriculum"
    config.save_dir = "models/curriculum"
    config.hyperparams.algorithm_specific["n_steps"] = n_steps

    def report(step: int, metrics: dict[str, float]) -> None:
        rate = curriculum.success_rate
        print(f"{step:>9,} steps: ante {curriculum.max_ante}, beaten in {rate:.0%} of the games at this level")

    trainer = create_trainer(CurriculumGame(make("balatro", n_envs, seed=config.seed), curriculum), config)
    try:
        trainer.train(callback=report)
    finally:
        trainer.close()
    return curriculum.max_ante


if __name__ == "__main__":
    print(f"Reached ante {main()}.")
