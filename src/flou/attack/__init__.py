"""What an intruder achieves by doing it. Methods come with the microdata and table attacks."""

METHODS: dict[str, str] = {}
