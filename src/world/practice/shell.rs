//! A small honest POSIX shell: what a job's command means, word by word.
//!
//! Known: simple commands, assignments, quoting, `$VAR`, `${VAR}`, `${VAR:-word}`, `$(...)`, backquotes,
//! `&&`, `||`, `;`, `|`, `!`, `(...)`, redirections to files and descriptors. Anything else (loops,
//! functions, here documents, background jobs) is an error and never a guess. An unset variable is an
//! error, as under `set -u`.

use std::collections::BTreeMap;

/// Longest command, in bytes.
pub const MAX_COMMAND: usize = 64 * 1024;
/// Deepest nesting of substitutions, groups and `sh -c`.
pub const MAX_DEPTH: u32 = 16;

/// What ended a command before its own exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellError(
    /// One line for the log.
    pub String,
);

/// A command line's node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Words, assignments and redirections.
    Simple(Simple),
    /// `a && b`, `a || b`, `a ; b`.
    Chain(Box<Node>, Join, Box<Node>),
    /// `a | b`.
    Pipe(Box<Node>, Box<Node>),
    /// `! a`.
    Not(Box<Node>),
    /// `( a )`, with its redirections.
    Group(Box<Node>, Vec<Redirect>),
}

/// How two commands are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a line's end
    Then,
}

/// A simple command before expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Simple {
    /// `NAME=word` before the first word.
    pub assignments: Vec<(String, Word)>,
    /// The words.
    pub words: Vec<Word>,
    /// Redirections.
    pub redirects: Vec<Redirect>,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// `>`, `>>`, `<` or `>&`, with the descriptor before it.
    pub operator: String,
    /// The file or descriptor.
    pub target: Word,
}

/// A word: parts that are joined after expansion.
pub type Word = Vec<Part>;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text as it stands.
    Text(String),
    /// A variable, its default, and whether it stands in double quotes.
    Variable {
        /// Its name.
        name: String,
        /// `${NAME:-default}`.
        default: Option<String>,
        /// Quoted parts are not split at blanks.
        quoted: bool,
    },
    /// `$(...)` or backquotes, parsed, and whether it stands in double quotes.
    Substitution(Box<Node>, bool),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(Word, bool),
    Operator(&'static str),
    Redirect(String),
}

/// Parses a command.
///
/// # Errors
/// When it is not understood; the message says what.
pub fn parse(command: &str) -> Result<Node, ShellError> {
    parse_at(command, 0)
}

fn parse_at(command: &str, depth: u32) -> Result<Node, ShellError> {
    if command.len() > MAX_COMMAND || depth > MAX_DEPTH {
        return Err(error("command too long or nested too deeply"));
    }
    let tokens = Lexer {
        chars: command.chars().collect(),
        at: 0,
        depth,
    }
    .tokens()?;
    let mut parser = Parser { tokens, at: 0 };
    let node = parser.list()?;
    if parser.at < parser.tokens.len() {
        return Err(error("syntax error near the end of the command"));
    }
    Ok(node)
}

fn error(text: impl Into<String>) -> ShellError {
    ShellError(format!("sh: {}", text.into()))
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    depth: u32,
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

    fn tokens(mut self) -> Result<Vec<Token>, ShellError> {
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

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

const RESERVED: &[&str] = &[
    "if", "then", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "function",
    "{", "}",
];

impl Parser {
    fn operator(&self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Operator(text)) => Some(text),
            _ => None,
        }
    }

    fn list(&mut self) -> Result<Node, ShellError> {
        while self.operator() == Some(";") {
            self.at += 1;
        }
        let mut left = self.pipeline()?;
        while let Some(text) = self.operator() {
            let join = match text {
                "&&" => Join::And,
                "||" => Join::Or,
                ";" => Join::Then,
                _ => break,
            };
            self.at += 1;
            while self.operator() == Some(";") {
                self.at += 1;
            }
            if join == Join::Then
                && matches!(self.tokens.get(self.at), None | Some(Token::Operator(")")))
            {
                break;
            }
            let right = self.pipeline()?;
            left = Node::Chain(Box::new(left), join, Box::new(right));
        }
        Ok(left)
    }

    fn pipeline(&mut self) -> Result<Node, ShellError> {
        let negated = matches!(
            self.tokens.get(self.at),
            Some(Token::Word(word, true)) if word.as_slice() == [Part::Text("!".to_owned())]
        );
        self.at += usize::from(negated);
        let mut left = self.command()?;
        while self.operator() == Some("|") {
            self.at += 1;
            left = Node::Pipe(Box::new(left), Box::new(self.command()?));
        }
        Ok(if negated {
            Node::Not(Box::new(left))
        } else {
            left
        })
    }

    fn command(&mut self) -> Result<Node, ShellError> {
        if self.operator() == Some("(") {
            self.at += 1;
            let inner = self.list()?;
            if self.operator() != Some(")") {
                return Err(error("`(` without `)`"));
            }
            self.at += 1;
            let mut rest = Simple::default();
            self.words(&mut rest)?;
            if !rest.words.is_empty() || !rest.assignments.is_empty() {
                return Err(error("words after `)`"));
            }
            return Ok(Node::Group(Box::new(inner), rest.redirects));
        }
        let mut simple = Simple::default();
        self.words(&mut simple)?;
        if simple == Simple::default() {
            return Err(error("a command is missing"));
        }
        Ok(Node::Simple(simple))
    }

    fn words(&mut self, simple: &mut Simple) -> Result<(), ShellError> {
        loop {
            match self.tokens.get(self.at) {
                Some(Token::Word(word, bare)) => {
                    let first = simple.words.is_empty();
                    if let Some((name, value)) = assignment(word).filter(|_| first) {
                        simple.assignments.push((name, value));
                    } else {
                        if let (true, true, [Part::Text(text)]) = (first, *bare, word.as_slice())
                            && RESERVED.contains(&text.as_str())
                        {
                            return Err(error(format!("`{text}` is not known here")));
                        }
                        simple.words.push(word.clone());
                    }
                    self.at += 1;
                }
                Some(Token::Redirect(operator)) => {
                    let operator = operator.clone();
                    let Some(Token::Word(target, _)) = self.tokens.get(self.at + 1) else {
                        return Err(error(format!("nothing after `{operator}`")));
                    };
                    simple.redirects.push(Redirect {
                        operator,
                        target: target.clone(),
                    });
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }
}

fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some(Part::Text(text)) = word.first() else {
        return None;
    };
    let (name, rest) = text.split_once('=')?;
    if !is_name(name) {
        return None;
    }
    let mut value = word.clone();
    if let Some(first) = value.first_mut() {
        *first = Part::Text(rest.to_owned());
    }
    Some((name.to_owned(), value))
}

/// What commands run in: folders, programs, files.
pub trait Host {
    /// Runs one program; returns its exit status and what it printed.
    fn run(&mut self, call: &Call<'_>) -> (i32, String);
    /// Whether a folder exists.
    fn has_folder(&self, path: &str) -> bool;
    /// A line for the run's log.
    fn log(&mut self, line: &str);
}

/// One program call after expansion.
#[derive(Debug)]
pub struct Call<'a> {
    /// The words, the program first.
    pub argv: &'a [String],
    /// Its environment.
    pub environment: &'a BTreeMap<String, String>,
    /// Its folder.
    pub folder: &'a str,
    /// Files that it writes through redirections, as `>path` or `>>path`, absolute.
    pub outputs: &'a [String],
    /// What it reads from a pipe.
    pub input: &'a str,
}

/// A running shell.
pub struct Shell<'h> {
    /// Its variables; all are exported.
    pub environment: BTreeMap<String, String>,
    /// Its folder.
    pub folder: String,
    /// What it runs in.
    pub host: &'h mut dyn Host,
    /// How deep it is nested.
    pub depth: u32,
}

impl Shell<'_> {
    /// Runs a command line; returns the exit status and the standard output that went to no file.
    ///
    /// # Errors
    /// When the shell itself gives up: an unset variable, a bad folder in a redirection, bad syntax.
    pub fn run(&mut self, command: &str) -> Result<(i32, String), ShellError> {
        let node = parse_at(command, self.depth)?;
        self.node(&node, "")
    }

    fn node(&mut self, node: &Node, input: &str) -> Result<(i32, String), ShellError> {
        match node {
            Node::Simple(simple) => self.simple(simple, input),
            Node::Chain(left, join, right) => {
                let (status, mut out) = self.node(left, input)?;
                let goes_on = match join {
                    Join::And => status == 0,
                    Join::Or => status != 0,
                    Join::Then => true,
                };
                if !goes_on {
                    return Ok((status, out));
                }
                let (status, more) = self.node(right, input)?;
                out.push_str(&more);
                Ok((status, out))
            }
            Node::Pipe(left, right) => {
                let (_, out) = self.inner(left, input)?;
                self.inner(right, &out)
            }
            Node::Not(inner) => {
                let (status, out) = self.node(inner, input)?;
                Ok((i32::from(status == 0), out))
            }
            Node::Group(inner, redirects) => {
                let outputs = self.outputs(redirects)?;
                let (status, out) = self.inner(inner, input)?;
                Ok((
                    status,
                    if outputs.is_empty() {
                        out
                    } else {
                        String::new()
                    },
                ))
            }
        }
    }

    /// Runs in a shell of its own: variables and folder come back as they were.
    fn inner(&mut self, node: &Node, input: &str) -> Result<(i32, String), ShellError> {
        let kept = (self.environment.clone(), self.folder.clone());
        let result = self.node(node, input);
        (self.environment, self.folder) = kept;
        result
    }

    fn simple(&mut self, simple: &Simple, input: &str) -> Result<(i32, String), ShellError> {
        let mut argv = Vec::new();
        for word in &simple.words {
            self.expand_into(word, &mut argv)?;
        }
        let outputs = self.outputs(&simple.redirects)?;
        let mut environment = self.environment.clone();
        for (name, value) in &simple.assignments {
            let value = self.expand(value)?;
            environment.insert(name.clone(), value);
        }
        let Some(program) = argv.first().cloned() else {
            self.environment = environment;
            return Ok((0, String::new()));
        };
        match program.as_str() {
            "cd" => Ok((self.change_folder(argv.get(1)), String::new())),
            "export" => Ok((
                self.export(argv.get(1..).unwrap_or_default())?,
                String::new(),
            )),
            ":" | "true" => Ok((0, String::new())),
            "false" => Ok((1, String::new())),
            "set" => Ok((0, String::new())),
            "exec" | "command" if argv.len() > 1 => self.call(
                argv.get(1..).unwrap_or_default(),
                &environment,
                &outputs,
                input,
            ),
            _ => self.call(&argv, &environment, &outputs, input),
        }
    }

    fn call(
        &mut self,
        argv: &[String],
        environment: &BTreeMap<String, String>,
        outputs: &[String],
        input: &str,
    ) -> Result<(i32, String), ShellError> {
        let (status, out) = match argv {
            [program, flag, script, ..]
                if flag == "-c" && matches!(program.as_str(), "sh" | "/bin/sh" | "/usr/bin/sh") =>
            {
                let mut inner = Shell {
                    environment: environment.clone(),
                    folder: self.folder.clone(),
                    host: &mut *self.host,
                    depth: self.depth + 1,
                };
                inner.run(script)?
            }
            _ => self.host.run(&Call {
                argv,
                environment,
                folder: &self.folder,
                outputs,
                input,
            }),
        };
        Ok((
            status,
            if outputs.is_empty() {
                out
            } else {
                String::new()
            },
        ))
    }

    fn change_folder(&mut self, target: Option<&String>) -> i32 {
        let Some(target) = target.or_else(|| self.environment.get("HOME")) else {
            self.host.log("sh: cd: HOME not set");
            return 1;
        };
        let path = absolute(&self.folder, target);
        if self.host.has_folder(&path) {
            self.folder = path;
            0
        } else {
            let line = format!("sh: cd: {target}: No such file or directory");
            self.host.log(&line);
            1
        }
    }

    fn export(&mut self, words: &[String]) -> Result<i32, ShellError> {
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            if !is_name(name) {
                return Err(error(format!("export: {word}: bad variable name")));
            }
            if word.contains('=') {
                self.environment.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(0)
    }

    fn outputs(&mut self, redirects: &[Redirect]) -> Result<Vec<String>, ShellError> {
        let mut files = Vec::new();
        for redirect in redirects {
            let target = self.expand(&redirect.target)?;
            let operator = redirect
                .operator
                .trim_start_matches(|c: char| c.is_ascii_digit());
            if operator == ">&" {
                if target.parse::<u8>().is_err() && target != "-" {
                    return Err(error(format!("{target}: bad file descriptor")));
                }
                continue;
            }
            let path = absolute(&self.folder, &target);
            let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
            if path != "/dev/null"
                && !self
                    .host
                    .has_folder(if folder.is_empty() { "/" } else { folder })
            {
                return Err(error(format!(
                    "cannot create {target}: Directory nonexistent"
                )));
            }
            let descriptor = redirect.operator.strip_suffix(operator).unwrap_or("");
            if operator.starts_with('>') && descriptor != "2" {
                files.push(format!("{operator}{path}"));
            }
        }
        Ok(files)
    }

    fn expand(&mut self, word: &Word) -> Result<String, ShellError> {
        let mut text = String::new();
        for part in word {
            text.push_str(&self.part(part)?);
        }
        Ok(text)
    }

    /// Expands to zero or more words: unquoted expansions are split at blanks.
    fn expand_into(&mut self, word: &Word, out: &mut Vec<String>) -> Result<(), ShellError> {
        let mut current: Option<String> = None;
        for part in word {
            let value = self.part(part)?;
            let splits = matches!(
                part,
                Part::Variable { quoted: false, .. } | Part::Substitution(_, false)
            );
            if !splits {
                current.get_or_insert_default().push_str(&value);
                continue;
            }
            let mut pieces = value.split_whitespace().peekable();
            if value.starts_with(char::is_whitespace) {
                out.extend(current.take());
            }
            while let Some(piece) = pieces.next() {
                current.get_or_insert_default().push_str(piece);
                if pieces.peek().is_some() || value.ends_with(char::is_whitespace) {
                    out.extend(current.take());
                }
            }
        }
        out.extend(current);
        Ok(())
    }

    fn part(&mut self, part: &Part) -> Result<String, ShellError> {
        match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Variable { name, default, .. } => {
                let value = self.environment.get(name);
                match (
                    value.filter(|v| default.is_none() || !v.is_empty()),
                    default,
                ) {
                    (Some(value), _) => Ok(value.clone()),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(error(format!("{name}: parameter not set"))),
                }
            }
            Part::Substitution(node, _) => {
                let (_, out) = self.inner(node, "")?;
                Ok(out.trim_end_matches('\n').to_owned())
            }
        }
    }
}

/// A path from a folder, without `.` and `..`.
pub fn absolute(folder: &str, path: &str) -> String {
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
