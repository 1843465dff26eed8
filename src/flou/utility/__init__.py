"""What the analyst loses. Methods come with the perturbing protections."""

METHODS: dict[str, str] = {}
