"""Service of two servers for tasks of any registered type: sealed reports, closing, charges, answers to analysts."""
