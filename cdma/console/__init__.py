"""Shared by all commands: options, numbers, profiles, pictures, progress, errors, output."""
