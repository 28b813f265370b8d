//! The old schedulers: files in their real formats, and what they really do.
