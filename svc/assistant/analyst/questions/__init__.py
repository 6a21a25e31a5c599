"""What a question asks: a state, a part of the time, a subject; and the sorts of things that it names."""
