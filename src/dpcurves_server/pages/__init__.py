"""HTML pages of the verification server: they work without scripts and load nothing from other hosts."""
