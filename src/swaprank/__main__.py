"""`python -m swaprank`: the command line, for whoever has it not on the path."""

from swaprank.cli import main

if __name__ == "__main__":
    main()
