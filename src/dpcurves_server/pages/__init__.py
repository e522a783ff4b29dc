"""The pages of the verification server: HTML that works without scripts and loads nothing from other hosts."""
