"""Output of commands: plain text, Markdown pages, HTML pages and plots, all from one builder of pages."""
