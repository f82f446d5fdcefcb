"""What has been learned: linear models, kernel machines, nets, forests and ensembles of them."""
