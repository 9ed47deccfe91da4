"""What a change costs, told from two commits alone, before anything is claimed for it."""
