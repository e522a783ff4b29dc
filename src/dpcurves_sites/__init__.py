"""Secure sums: sites keep their records and add up noisy counts, of which nobody sees more than the sum."""
