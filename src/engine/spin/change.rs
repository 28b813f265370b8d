//! What a proposal changes, so that the same change is known again under another coat of paint. Pure.

use crate::model::Digest;
use crate::model::canon::digest_parts;
use std::collections::BTreeMap;

/// Digests of a proposal's change: against the old definition, and against the config before, where there is
/// one and something of it changed.
pub fn changes(definition: &str, previous: Option<&str>, proposal: &str) -> Vec<Digest> {
    let new = lines(proposal);
    let mut out = vec![digest("definition", &difference(&lines(definition), &new))];
    if let Some(previous) = previous {
        let changed = difference(&lines(previous), &new);
        if !changed.is_empty() {
            out.push(digest("previous", &changed));
        }
    }
    out
}

/// Lines with what carries no meaning taken off: comments, empty lines, white space and order.
fn lines(text: &str) -> BTreeMap<String, i64> {
    let mut out = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let line = words.join(" ");
        let comment = ["#", "--", ";", "//"]
            .iter()
            .any(|mark| line.starts_with(mark));
        if !line.is_empty() && !comment {
            *out.entry(line).or_default() += 1;
        }
    }
    out
}

/// Lines with how many more of them there are in `new`; negative where there are fewer.
fn difference(old: &BTreeMap<String, i64>, new: &BTreeMap<String, i64>) -> Vec<(String, i64)> {
    let mut all: BTreeMap<String, i64> = new.clone();
    for (line, count) in old {
        *all.entry(line.clone()).or_default() -= count;
    }
    all.into_iter().filter(|(_, count)| *count != 0).collect()
}

fn digest(base: &str, changed: &[(String, i64)]) -> Digest {
    let counts: Vec<String> = changed.iter().map(|(_, count)| count.to_string()).collect();
    let parts = changed
        .iter()
        .zip(&counts)
        .flat_map(|((line, _), count)| [line.as_str(), count.as_str()]);
    digest_parts(std::iter::once(base).chain(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_is_no_change() {
        let plain = changes("old", None, "a = 1\nb = 2\n");
        let painted = changes("old", None, "# tried again\n\n  b =   2\na = 1\n");
        assert_eq!(plain, painted);
        assert_ne!(plain, changes("old", None, "a = 1\nb = 3\n"));
        assert_ne!(plain, changes("old", None, "a = 1\na = 1\nb = 2\n"));
    }

    #[test]
    fn the_same_patch_on_top_of_itself_is_the_same_change() {
        let first = changes("old", Some("a"), "a\nretry = 3");
        let second = changes("old", Some("a\nretry = 3"), "a\nretry = 3\nretry = 3");
        assert_ne!(first[0], second[0]);
        assert_eq!(first[1], second[1]);
        // Back and forth: the content is known again.
        let back = changes("old", Some("b"), "a");
        let there = changes("old", None, "a");
        assert_eq!(back[0], there[0]);
        // Nothing changed: known by its content alone.
        assert_eq!(changes("old", Some("a"), "a").len(), 1);
    }
}
