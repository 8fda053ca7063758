"""What stands where K stands: dense, low rank, tiles on disk, features, sparse."""
