"""PPO in one file, in the style of CleanRL: nothing of JimBot but its environments.

All games are one vector environment, stepped by one call; the mask comes with every step as `info["action_mask"]` and
goes into the distribution both when acting and when learning. Everything else is PPO as everybody writes it.
"""

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn
from torch.distributions import Categorical

import jimbot.envs
from jimbot.games.seeds import HELD_OUT, bank_seeds

__all__ = ["jimbot"]  # importing it registers the environments


class Agent(nn.Module):
    """Two stacks: one proposes, one judges."""

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, actions))
        self.critic = nn.Sequential(nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, 1))

    def distribution(self, observation: torch.Tensor, mask: torch.Tensor) -> Categorical:
        return Categorical(logits=self.actor(observation).masked_fill(~mask, -1e8))


def main(
    env_id: str = "jimbot/Probe-v1",
    total_timesteps: int = 60_000,
    num_envs: int = 16,
    num_steps: int = 64,
    learning_rate: float = 3e-3,
    games: int = 100,
) -> float:
    torch.manual_seed(1)
    envs = gymnasium.make_vec(env_id, num_envs=num_envs)
    observations, actions = envs.single_observation_space, envs.single_action_space
    assert isinstance(observations, Box)
    assert isinstance(actions, Discrete)
    agent = Agent(observations.shape[0], int(actions.n))
    optimizer = torch.optim.Adam(agent.parameters(), lr=learning_rate, eps=1e-5)
    observation, info = envs.reset(seed=1)
    for _ in range(total_timesteps // (num_envs * num_steps)):
        steps = []
        for _ in range(num_steps):
            seen, mask = torch.tensor(observation), torch.tensor(info["action_mask"])
            with torch.no_grad():
                policy, value = agent.distribution(seen, mask), agent.critic(seen)[:, 0]
                action = policy.sample()
            observation, reward, terminated, truncated, info = envs.step(action.numpy())
            ended = torch.tensor(terminated | truncated)
            steps.append((seen, mask, action, policy.log_prob(action), value, torch.tensor(reward).float(), ended))
        with torch.no_grad():
            following = agent.critic(torch.tensor(observation))[:, 0]
        learn(agent, optimizer, steps, following)
    envs.close()
    return judge(agent, env_id, games)


def learn(agent: Agent, optimizer: torch.optim.Optimizer, steps: list, following: torch.Tensor) -> None:
    """Four passes over the rollout in four minibatches."""
    seen, masks, actions, old, values, rewards, ended = (torch.stack(parts) for parts in zip(*steps, strict=True))
    advantages, carried = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for step in reversed(range(len(rewards))):
        alive = 1.0 - ended[step].float()
        carried = rewards[step] + 0.99 * alive * following - values[step] + 0.99 * 0.95 * alive * carried
        advantages[step], following = carried, values[step]
    returns = (advantages + values).flatten()
    advantages, old, actions = advantages.flatten(), old.flatten(), actions.flatten()
    seen, masks = seen.flatten(0, 1), masks.flatten(0, 1)
    for _ in range(4):
        for part in torch.randperm(len(returns)).chunk(4):
            policy = agent.distribution(seen[part], masks[part])
            ratio = (policy.log_prob(actions[part]) - old[part]).exp()
            weight = (advantages[part] - advantages[part].mean()) / (advantages[part].std() + 1e-8)
            policy_loss = -torch.min(ratio * weight, ratio.clamp(0.8, 1.2) * weight).mean()
            value_loss = (agent.critic(seen[part])[:, 0] - returns[part]).square().mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def judge(agent: Agent, env_id: str, games: int) -> float:
    """The mean return on games nobody trains on: `game_seed` asks for exactly those."""
    env, returns = gymnasium.make(env_id), []
    for seed in bank_seeds(HELD_OUT, games):
        observation, info = env.reset(options={"game_seed": int(seed)})
        total, over = 0.0, False
        while not over:
            with torch.no_grad():
                policy = agent.distribution(torch.tensor(observation), torch.tensor(info["action_mask"]))
            observation, reward, terminated, truncated, info = env.step(int(policy.mode))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    env.close()
    print(f"{env_id}: mean return {np.mean(returns):.2f} over {games} held-out games")
    return float(np.mean(returns))


if __name__ == "__main__":
    main()
