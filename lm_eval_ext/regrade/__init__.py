"""``lm-eval-ext verify``: recorded responses judged by their verifiable instructions."""
