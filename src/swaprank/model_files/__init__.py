"""Models on disk: one file, no code in it, every byte checked on the way back."""
