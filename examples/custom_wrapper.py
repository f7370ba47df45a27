"""A reward of your own: money in hand counts a little, so that the agent learns to save for interest."""

from typing import Any

import gymnasium

from jimbot.training.env_wrapper import BalatroGymWrapper, EnvironmentWrapper
from jimbot.training.framework import create_trainer, get_default_config
from jimbot.training.utils import create_balatro_env, validate_environment


class Thrift(EnvironmentWrapper):
    """Adds `worth` for every dollar gained since the last step and takes it away for every dollar spent."""

    def __init__(self, env: gymnasium.Env, worth: float = 0.002) -> None:
        super().__init__(env)
        self.worth, self.money = worth, 0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(**options)
        self.money = info["money"]  # what a game starts with is no gain
        return observation, info

    def transform_reward(self, reward: float, info: dict[str, Any]) -> float:
        gained, self.money = info["money"] - self.money, info["money"]
        return reward + self.worth * gained


def main(total_timesteps: int = 50_000, n_steps: int = 512) -> list[str]:
    env = Thrift(BalatroGymWrapper(create_balatro_env(seed=1)))
    problems = validate_environment(env, steps=100)  # prints what is wrong, or that nothing is

    config = get_default_config("PPO")
    config.total_timesteps = total_timesteps
    config.run_name = "example-custom-wrapper"
    config.save_dir = "models/custom_wrapper"
    config.hyperparams.algorithm_specific["n_steps"] = n_steps
    trainer = create_trainer(env, config)
    try:
        trainer.train()
    finally:
        trainer.close()
    return problems


if __name__ == "__main__":
    main()
