"""The version of Proctor, in its one place."""

VERSION = "0.1.0"
