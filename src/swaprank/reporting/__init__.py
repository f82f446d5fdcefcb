"""The report of a ranker: one HTML page of metrics, charts and provenance."""
