"""The report's section on the set to run before a release."""
