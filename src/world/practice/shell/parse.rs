//! A command line's words to its tree.

use super::lex::{Lexer, is_name};

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
pub(super) enum Token {
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

pub(super) fn parse_at(command: &str, depth: u32) -> Result<Node, ShellError> {
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

pub(super) fn error(text: impl Into<String>) -> ShellError {
    ShellError(format!("sh: {}", text.into()))
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
