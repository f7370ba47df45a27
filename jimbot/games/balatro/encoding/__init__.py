"""What a learner sees and may do: the observation, the flat action table, rewards, the kernel that steps a batch."""
