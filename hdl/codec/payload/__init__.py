"""The payload of a block: its tags and elements, from raw beats and back."""
