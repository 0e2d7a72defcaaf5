"""`python -m fedbench`, for where the program `fedbench` is not on the path."""

from fedbench.cli.main import main

if __name__ == "__main__":
    main()
