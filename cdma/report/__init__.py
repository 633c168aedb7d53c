"""What commands print and write: plain text, Markdown, HTML pages and plots."""
