"""The pages of the verification server: made here, readable without scripts, asking no other host."""
