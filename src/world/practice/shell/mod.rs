//! A small honest POSIX shell: what a job's command means, word by word.
//!
//! Known: simple commands, assignments, quoting, `$VAR`, `${VAR}`, `${VAR:-word}`, `$(...)`, backquotes,
//! `&&`, `||`, `;`, `|`, `!`, `(...)`, redirections to files and descriptors. Anything else (loops,
//! functions, here documents, background jobs) is an error and never a guess. An unset variable is an
//! error, as under `set -u`.

mod lex;
mod parse;

pub use parse::{
    Join, MAX_COMMAND, MAX_DEPTH, Node, Part, Redirect, ShellError, Simple, Word, parse,
};

use lex::is_name;
use parse::{error, parse_at};
use std::collections::BTreeMap;

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
mod tests;
