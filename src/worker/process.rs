//! One run of an executable: JSON in, JSON out, bounded in time and output.
