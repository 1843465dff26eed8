"""Calibration: which parameters of a protection keep the risk under a limit at the least loss."""
