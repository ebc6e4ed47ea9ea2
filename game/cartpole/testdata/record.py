"""Records CartPole-v1 of Gymnasium 1.4.0, for TestStepsLikeGymnasium.

    pip install gymnasium==1.4.0
    python record.py > gymnasium.txt

A line "start" holds the state an episode starts from; each other line an
action, the state after it, the reward, terminated and truncated. States are
Gymnasium's own float64, written with all their digits.
"""

import gymnasium as gym

env = gym.make("CartPole-v1")
policies = [
    lambda s, t: (t * t + t // 3) % 2,  # falls
    lambda s, t: 1,  # falls to the left
    lambda s, t: int(s[2] + 0.3 * s[3] + 0.03 * s[0] + 0.08 * s[1] > 0),  # balances
    lambda s, t: int(s[2] + 0.3 * s[3] > 0.05),  # leaves the track upright
]
print("# gymnasium", gym.__version__)
for seed, policy in enumerate(policies):
    env.reset(seed=seed)
    print("start", *map(float, env.unwrapped.state))
    done, t = False, 0
    while not done:
        action = policy(env.unwrapped.state, t)
        _, reward, terminated, truncated, _ = env.step(action)
        print(action, *map(float, env.unwrapped.state), reward, int(terminated), int(truncated))
        done, t = terminated or truncated, t + 1
