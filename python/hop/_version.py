"""The one place that holds the version of the package, its wheels and their `hop` program."""

__version__ = "0.1.0"
