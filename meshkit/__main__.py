"""`python -m meshkit`: the same as the `meshkit` command."""

from meshkit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
