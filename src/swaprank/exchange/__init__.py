"""Models to and from other systems: one file per format, `to_<format>.py` and `from_<format>.py`."""
