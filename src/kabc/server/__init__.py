"""Studies over HTTP: people look at them, workers draw for them. See docs/serve.md."""
