"""Results as text tables, JSON, data frames and figures."""
