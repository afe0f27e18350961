"""The plugin for pytest: suites as test items, and the fixture `proctor`."""
