"""Ten to five hundred instructions of many types, each about one section of a report."""
