"""Your own hyperparameters: start from an algorithm's defaults and change what you want to know about."""

from jimbot.training.framework import HyperparameterConfig, TrainerConfig, create_trainer


def main(game: str = "balatro", total_timesteps: int = 200_000, n_envs: int = 8, games: int = 100) -> float:
    config = TrainerConfig(
        algorithm="PPO",
        total_timesteps=total_timesteps,
        n_envs=n_envs,
        run_name="example-custom-hyperparameters",
        save_dir="models/custom_hyperparameters",
        hyperparams=HyperparameterConfig(
            learning_rate=1e-3,
            entropy_coefficient=0.02,  # explore a little longer
            policy_net_arch=[128, 128],
            value_net_arch=[128, 128],
            features_dim=128,
            algorithm_specific={"n_steps": 128, "batch_size": 256, "n_epochs": 4, "clip_range": 0.2},
        ),
    )
    config.hyperparams.gamma = 0.995  # fields may be assigned later too; they are checked when used

    trainer = create_trainer(game, config)
    try:
        trainer.train()
        mean, deviation = trainer.evaluate(n_episodes=games)
    finally:
        trainer.close()
    print(f"{game}: mean return {mean:.2f} (standard deviation {deviation:.2f}) over {games} held-out games")
    return mean


if __name__ == "__main__":
    main()
