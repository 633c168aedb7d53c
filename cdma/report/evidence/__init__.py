"""Parts of docs/verification.md and docs/signoff.md that are made from docs/verification.json."""
