"""Several algorithms on the same game, side by side: who learns most from the same number of steps?"""

from jimbot.envs import make_env
from jimbot.training.experiment import ExperimentConfig, MultiAlgorithmBenchmark
from jimbot.training.framework import get_default_config


def main(game: str = "balatro", total_timesteps: int = 100_000, n_envs: int = 8, games: int = 50) -> str:
    benchmark = MultiAlgorithmBenchmark(lambda: make_env(game))
    for algorithm in ("PPO", "A2C", "DQN"):
        config = get_default_config(algorithm)
        config.total_timesteps = total_timesteps
        config.n_envs = n_envs
        benchmark.add_experiment(ExperimentConfig(algorithm, config, n_eval_episodes=games))
    benchmark.run_all()
    benchmark.print_summary()
    return benchmark.get_best_result().name


if __name__ == "__main__":
    print(f"The best: {main()}")
