"""The report of a ranker: one HTML page of measures, charts and provenance."""
