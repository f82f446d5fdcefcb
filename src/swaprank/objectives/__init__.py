"""Objectives: the costs that learners minimize, with their gradients and hessians."""
