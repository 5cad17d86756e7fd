"""Every row asked in several wordings of its instruction, and how much the answers depend on the wording."""
