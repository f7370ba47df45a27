"""Commands that say how good a policy, or how true a simulator, is."""
