"""How nets are trained."""
