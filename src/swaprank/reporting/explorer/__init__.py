"""A local page to look at queries: where a ranking wins or loses, and why."""
