"""Several fitted rankers in one."""
