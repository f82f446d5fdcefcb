"""The learners that the papers compare themselves with: one file per rival, its idea and its equation."""
