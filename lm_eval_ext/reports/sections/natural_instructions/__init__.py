"""The report's section on Natural Instructions."""
