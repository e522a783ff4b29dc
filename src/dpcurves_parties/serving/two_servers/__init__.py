"""Service of two servers for tasks of any registered kind: sealed reports, closing, charges, answers to analysts."""
