"""Forms of a result: text, HTML, JSON and data frames; and figures."""
