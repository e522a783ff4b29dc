"""Secure sums: sites keep their records and add up noisy counts; only the sum is revealed."""
