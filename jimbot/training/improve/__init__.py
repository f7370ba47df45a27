"""Expert iteration: a policy plays with a plan, learns what the plan chose, and plans better for it."""
