"""Training of nets: epochs and optimizers."""
