"""Rules: columns computed from released ones and from the plan's input, attacked before they are accepted."""
