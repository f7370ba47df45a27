"""Train one agent and judge it on games it cannot have seen. Running it again continues the run."""

from jimbot.training.framework import create_trainer, get_default_config


def main(game: str = "balatro", total_timesteps: int = 200_000, n_envs: int = 8, games: int = 100) -> float:
    config = get_default_config("PPO")
    config.total_timesteps = total_timesteps
    config.n_envs = n_envs
    config.run_name = "example-single-run"
    config.save_dir = "models/single_run"

    trainer = create_trainer(game, config, resume=True)
    try:
        trainer.train(callback=lambda step, metrics: print(f"{step:>9,} steps: {metrics['train/mean_reward']:.3f}"))
        mean, deviation = trainer.evaluate(n_episodes=games)
    finally:
        trainer.close()
    print(f"{game}: mean return {mean:.2f} (standard deviation {deviation:.2f}) over {games} held-out games")
    return mean


if __name__ == "__main__":
    main()
