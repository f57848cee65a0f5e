"""Evidence: how statistics of samples decide which pairs are told apart."""
