"""The search for good hyper-parameters (`jimbot tune`): settings are tried one by one, the hopeless given up early."""
