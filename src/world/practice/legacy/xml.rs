//! As much XML as the old schedulers' exports use: elements, attributes, text, comments, the five
//! named entities. Anything else is an error.

use std::collections::BTreeMap;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 64;

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name as written, prefix included.
    pub name: String,
    /// Its attributes.
    pub attributes: BTreeMap<String, String>,
    /// Its elements, in order.
    pub children: Vec<Element>,
    /// Its text, trimmed.
    pub text: String,
}

impl Element {
    /// An attribute; empty when it has none of that name.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// All elements of a name under this one, at any depth, in order.
    pub fn all<'a>(&'a self, name: &str) -> Vec<&'a Element> {
        let mut found = Vec::new();
        for child in &self.children {
            if child.name == name {
                found.push(child);
            }
            found.extend(child.all(name));
        }
        found
    }

    /// The text of the first element of a name under this one; empty when there is none.
    pub fn text_of(&self, name: &str) -> &str {
        self.all(name)
            .first()
            .map_or("", |found| found.text.as_str())
    }
}

/// Reads a document.
///
/// # Errors
/// When it is not well formed, uses what is not read here, or nests deeper than the limit.
pub fn parse(text: &str) -> Result<Element, String> {
    let mut open: Vec<Element> = vec![Element::default()];
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        if let Some(parent) = open.last_mut() {
            parent.text.push_str(&unescape(before.trim())?);
        }
        if let Some(after) = from.strip_prefix("<!--") {
            rest = after.split_once("-->").ok_or("a comment never ends")?.1;
            continue;
        }
        if let Some(after) = from.strip_prefix("<?") {
            rest = after.split_once("?>").ok_or("an instruction never ends")?.1;
            continue;
        }
        let end = tag_end(from).ok_or("a tag never ends")?;
        let tag = from.get(1..end).unwrap_or("");
        rest = from.get(end + 1..).unwrap_or("");
        if let Some(name) = tag.strip_prefix('/') {
            close(&mut open, name.trim())?;
        } else {
            let empty = tag.ends_with('/');
            let element = element(tag.trim_end_matches('/'))?;
            let name = element.name.clone();
            open.push(element);
            if open.len() > MAX_DEPTH {
                return Err(format!("nested deeper than {MAX_DEPTH}"));
            }
            if empty {
                close(&mut open, &name)?;
            }
        }
    }
    let mut document = open.pop().unwrap_or_default();
    match (open.is_empty(), document.children.len()) {
        (true, 1) => document.children.pop().ok_or_else(|| "empty".to_owned()),
        (true, count) => Err(format!("{count} root elements")),
        _ => Err(format!("<{}> never ends", document.name)),
    }
}

/// The `>` of a tag, which may stand inside quotes too.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return Some(at),
            None => {}
        }
    }
    None
}

fn close(open: &mut Vec<Element>, name: &str) -> Result<(), String> {
    let Some(done) = open
        .pop()
        .filter(|done| done.name == name && !open.is_empty())
    else {
        return Err(format!("</{name}> without its beginning"));
    };
    if let Some(parent) = open.last_mut() {
        parent.children.push(done);
    }
    Ok(())
}

fn element(tag: &str) -> Result<Element, String> {
    let end = tag.find(char::is_whitespace).unwrap_or(tag.len());
    let (name, mut rest) = tag.split_at(end);
    let mut attributes = BTreeMap::new();
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| *c == '"' || *c == '\'');
        let quote = quote.ok_or_else(|| format!("attribute {} without quotes", key.trim()))?;
        let (value, remaining) = after
            .get(1..)
            .and_then(|inside| inside.split_once(quote))
            .ok_or("an attribute never ends")?;
        attributes.insert(key.trim().to_owned(), unescape(value)?);
        rest = remaining;
    }
    Ok(Element {
        name: name.to_owned(),
        attributes,
        ..Element::default()
    })
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, remaining) = after.split_once(';').ok_or("an entity never ends")?;
        out.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            other => return Err(format!("entity &{other};")),
        });
        rest = remaining;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn documents_are_read_and_broken_ones_refused() {
        let root = parse(
            "<?xml version=\"1.0\"?>\n<!-- <a> -->\n<a x=\"1 > 0\">\n <b/><b>t &amp; u</b>\n</a>\n",
        )
        .unwrap();
        assert_eq!(root.attribute("x"), "1 > 0");
        assert_eq!(root.all("b").len(), 2);
        assert_eq!(root.all("b")[1].text, "t & u");
        for broken in ["<a>", "<a></b>", "</a>", "<a/><b/>", "<a", "", "<a x=1/>"] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }
}
