//! Working hours and days of a goal's calendar.
