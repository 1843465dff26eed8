"""Calibration of weights (Deville & Särndal 1992): kernels that take arrays and give weights, or say what clashes."""
