"""The pages of a site: each is a pure function of the documents, so that `check` can make it again
and compare."""
