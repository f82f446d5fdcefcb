"""Objectives: the costs that learners minimise, with their gradients and hessians."""
