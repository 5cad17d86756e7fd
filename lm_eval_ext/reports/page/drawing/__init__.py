"""The drawings of a report: matplotlib lays them out and draws, in the colours of the page."""
