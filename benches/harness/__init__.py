"""What every row of the comparison stands on: measuring, the disk, the peers, projects, the report."""
