"""Shape constraints that hold without data: monotone curves, shares that add up."""
