"""What measures the detector of undone fixes and nothing else needs: runs, baselines, the fit."""
