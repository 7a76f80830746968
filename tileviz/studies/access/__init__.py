"""What one warp instruction costs."""
