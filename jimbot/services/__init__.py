"""Trained policies for other programs: the decision core, its gRPC door, and what watches them."""
