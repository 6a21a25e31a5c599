"""Questions with several clauses: the plan of each, and whether the report says anything about it."""
