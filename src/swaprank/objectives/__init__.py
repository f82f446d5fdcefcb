"""What learners descend: costs of scores, with their gradients and curvatures."""
