"""Who answers requests, and how to reach them."""
