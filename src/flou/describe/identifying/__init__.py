"""What in a file looks as if it named people, whatever the schema says of it."""
