"""How far private distribution functions are from those of the records: the parts of `cdf_accuracy.py`."""
