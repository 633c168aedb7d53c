"""The pages: commands run, examples hold, links lead somewhere, generated parts are fresh."""
