"""The search for good hyper-parameters (`jimbot tune`)."""
