"""What every result can do: text, HTML, JSON and data frames; and figures."""
