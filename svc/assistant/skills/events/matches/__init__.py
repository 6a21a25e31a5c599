"""What the detection rules matched: how often, who acted on what, and what makes a match milder."""
