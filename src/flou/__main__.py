"""`python -m flou`: the same as the command `flou`."""

from flou.cli.main import main

main()
