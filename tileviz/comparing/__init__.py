"""Two designs of one study beside each other: what differs, which is better, by how much."""
