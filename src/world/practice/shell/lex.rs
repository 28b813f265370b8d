//! A command line's text to its words.

use super::parse::{Part, ShellError, Token, Word, error, parse_at};

pub(super) struct Lexer {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: u32,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = text
            .chars()
            .enumerate()
            .all(|(offset, c)| self.chars.get(self.at + offset) == Some(&c));
        if found {
            self.at += text.chars().count();
        }
        found
    }

    pub(super) fn tokens(mut self) -> Result<Vec<Token>, ShellError> {
        let mut out = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => {
                    self.at += 1;
                }
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1
                    }
                }
                '\n' => {
                    self.at += 1;
                    out.push(Token::Operator(";"));
                }
                '&' | '|' | ';' | '(' | ')' => out.push(Token::Operator(self.operator()?)),
                '<' | '>' => out.push(self.redirect(String::new())?),
                '0'..='9' if matches!(self.chars.get(self.at + 1), Some('<' | '>')) => {
                    self.at += 1;
                    out.push(self.redirect(c.to_string())?);
                }
                _ => out.push(self.word()?),
            }
        }
        Ok(out)
    }

    fn operator(&mut self) -> Result<&'static str, ShellError> {
        for text in ["&&", "||", "|", "(", ")"] {
            if self.eat(text) {
                return Ok(text);
            }
        }
        if self.eat("&>") {
            return Err(error("`&>` is not POSIX"));
        }
        if self.eat("&") {
            return Err(error(
                "`&`: a scheduled command may not run in the background",
            ));
        }
        if self.eat(";") && self.peek() != Some(';') {
            return Ok(";");
        }
        Err(error("syntax error at `;;`"))
    }

    fn redirect(&mut self, descriptor: String) -> Result<Token, ShellError> {
        for text in [">>", ">&", ">|", "<<", "<&", ">", "<"] {
            if self.eat(text) {
                return if matches!(text, "<<" | "<&" | ">|") {
                    Err(error(format!("`{text}` is not known here")))
                } else {
                    Ok(Token::Redirect(format!("{descriptor}{text}")))
                };
            }
        }
        Err(error("redirection not understood"))
    }

    fn word(&mut self) -> Result<Token, ShellError> {
        let mut word = Word::new();
        let mut bare = true;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '&' | '|' | ';' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    bare = false;
                    self.at += 1;
                    let text = self.until('\'')?;
                    push_text(&mut word, &text);
                }
                '"' => {
                    bare = false;
                    self.at += 1;
                    self.double_quoted(&mut word)?;
                }
                '\\' => {
                    bare = false;
                    self.at += 1;
                    match self.next() {
                        Some('\n') | None => {}
                        Some(c) => push_text(&mut word, &c.to_string()),
                    }
                }
                '$' | '`' => {
                    let part = self.expansion(false)?;
                    word.push(part);
                }
                _ => {
                    self.at += 1;
                    push_text(&mut word, &c.to_string());
                }
            }
        }
        Ok(Token::Word(word, bare))
    }

    fn until(&mut self, end: char) -> Result<String, ShellError> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some(c) if c == end => return Ok(text),
                Some(c) => text.push(c),
                None => return Err(error(format!("unterminated {end}"))),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), ShellError> {
        push_text(word, "");
        loop {
            match self.peek() {
                None => return Err(error("unterminated \"")),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.next() {
                        Some(c @ ('"' | '\\' | '$' | '`')) => push_text(word, &c.to_string()),
                        Some('\n') => {}
                        Some(c) => push_text(word, &format!("\\{c}")),
                        None => return Err(error("unterminated \"")),
                    }
                }
                Some('$' | '`') => {
                    let part = self.expansion(true)?;
                    word.push(part);
                }
                Some(c) => {
                    self.at += 1;
                    push_text(word, &c.to_string());
                }
            }
        }
    }

    fn expansion(&mut self, quoted: bool) -> Result<Part, ShellError> {
        if self.eat("`") {
            let inner = self.until('`')?;
            return Ok(Part::Substitution(
                Box::new(parse_at(&inner, self.depth + 1)?),
                quoted,
            ));
        }
        self.at += 1;
        if self.peek() == Some('(') {
            self.at += 1;
            let inner = self.balanced()?;
            if inner.starts_with('(') {
                return Err(error("arithmetic is not known here"));
            }
            return Ok(Part::Substitution(
                Box::new(parse_at(&inner, self.depth + 1)?),
                quoted,
            ));
        }
        if self.eat("{") {
            let inner = self.until('}')?;
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default.to_owned())),
                None => (inner.as_str(), None),
            };
            if !is_name(name) {
                return Err(error(format!("${{{inner}}}: bad substitution")));
            }
            return Ok(Part::Variable {
                name: name.to_owned(),
                default,
                quoted,
            });
        }
        let mut name = String::new();
        while let Some(c) = self
            .peek()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            if name.is_empty() && c.is_ascii_digit() {
                break;
            }
            name.push(c);
            self.at += 1;
        }
        if name.is_empty() {
            // A dollar that begins nothing is itself.
            return Ok(Part::Text("$".to_owned()));
        }
        Ok(Part::Variable {
            name,
            default: None,
            quoted,
        })
    }

    /// The text up to the `)` that closes `$(`, quotes respected.
    fn balanced(&mut self) -> Result<String, ShellError> {
        let mut text = String::new();
        let mut depth = 1u32;
        let mut quote: Option<char> = None;
        while let Some(c) = self.next() {
            match (c, quote) {
                ('\\', None | Some('"')) => {
                    text.push(c);
                    text.extend(self.next());
                    continue;
                }
                ('\'' | '"', None) => quote = Some(c),
                (_, Some(open)) if c == open => quote = None,
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(text);
            }
            text.push(c);
        }
        Err(error("unterminated $("))
    }
}

fn push_text(word: &mut Word, text: &str) {
    if let Some(Part::Text(last)) = word.last_mut() {
        last.push_str(text);
    } else {
        word.push(Part::Text(text.to_owned()));
    }
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
