"""From samples to mean embeddings: exact kernel sums (gram), random features (features), distances and variances (means)."""
