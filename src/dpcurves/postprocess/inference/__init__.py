"""How far an estimate may be from the truth: simulation, bands, tests."""
