"""How SmoothRank learns, and the regressions that it starts from: ridge regression and a ranking SVM."""
