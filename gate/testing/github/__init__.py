"""A GitHub for tests: it keeps GitHub's rules, also those that its API description cannot say."""
