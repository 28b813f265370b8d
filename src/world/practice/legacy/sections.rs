//! A definition's sections: `--- path ---` on a line of its own, then that file's part.

/// Most bytes of one definition; a longer one is refused by whoever reads it.
pub const MAX_DEFINITION: usize = 1_000_000;

/// One part of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// The file that the part comes from.
    pub path: &'a str,
    /// The part, without the line that begins it.
    pub text: &'a str,
}

/// Puts parts together.
pub(super) fn join(parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (path, text) in parts {
        out.push_str(&format!("--- {path} ---\n{text}"));
        if !text.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// Takes a definition apart; text before the first section line belongs to no part.
pub fn split(definition: &str) -> Vec<Section<'_>> {
    let mut out: Vec<Section<'_>> = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in definition.split_inclusive('\n') {
        if let Some(path) = header(line) {
            if let Some((path, from)) = open {
                out.push(part(path, definition, from, at));
            }
            open = Some((path, at + line.len()));
        }
        at += line.len();
    }
    if let Some((path, from)) = open {
        out.push(part(path, definition, from, at));
    }
    out
}

fn header(line: &str) -> Option<&str> {
    let path = line.trim_end().strip_prefix("--- ")?.strip_suffix(" ---")?;
    (!path.is_empty() && !path.contains(' ')).then_some(path)
}

fn part<'a>(path: &'a str, whole: &'a str, from: usize, to: usize) -> Section<'a> {
    Section {
        path,
        text: whole.get(from..to).unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::{join, split};

    #[test]
    fn parts_come_back_as_they_went_in() {
        let text = join(&[
            ("a.timer", "[Timer]\n"),
            ("jobs/a.sql", "-- x\nselect 1;\n"),
        ]);
        let parts = split(&text);
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].path, parts[0].text), ("a.timer", "[Timer]\n"));
        assert_eq!(parts[1].text, "-- x\nselect 1;\n");
    }
}
