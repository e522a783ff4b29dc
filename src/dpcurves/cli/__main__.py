"""Entry point of `python -m dpcurves.cli`, for where the command itself is not on the path."""

from .start import main

if __name__ == "__main__":
    main()
