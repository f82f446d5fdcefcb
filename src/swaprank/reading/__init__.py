"""Data sets, judgements and runs, from files and tables and back."""
