"""Models that were fitted elsewhere, taken apart into public numbers. No library of models is imported."""
