//! `dogwatch config`, and the file it is about: read strictly, every setting documented by one table.

use super::Common;
use super::error::{CliError, ExitCode};
use super::output::{print_json, print_text};
use crate::engine::drift::Resume;
use crate::model::SafeText;
use crate::tui::keymap::{ACTIONS, Key, Keymap};
use crate::tui::notice::{Desktop, NotifyBy, Webhook};
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, Table, Value};

/// Largest file read, in bytes.
const MAX_FILE: u64 = 256 * 1024;
/// Most words of the notice command.
const MAX_COMMAND: usize = 64;
/// Notices are at most so far apart.
const MAX_EVERY_S: i64 = 86_400;

/// A setting: where it stands, its default as written, what it does.
struct Setting {
    table: &'static str,
    key: &'static str,
    default: &'static str,
    help: &'static str,
}

const fn setting(
    table: &'static str,
    key: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting {
        table,
        key,
        default,
        help,
    }
}

/// Every setting but the keys, which are the action table's.
const SETTINGS: &[Setting] = &[
    setting(
        "",
        "theme",
        "\"default\"",
        "default, light, dark, solarized, high-contrast, mono, or NAME for themes/NAME.toml beside this file.",
    ),
    setting(
        "",
        "color",
        "\"auto\"",
        "auto (NO_COLOR and plain terminals are obeyed), always or never.",
    ),
    setting(
        "",
        "ascii",
        "\"auto\"",
        "Only ASCII on the screen: auto (where the locale is not UTF-8), always or never.",
    ),
    setting(
        "",
        "calm",
        "false",
        "For a bad link: at most two frames a second.",
    ),
    setting(
        "notify",
        "bell",
        "false",
        "Ring the terminal's bell when something new needs a person.",
    ),
    setting(
        "notify",
        "desktop",
        "\"none\"",
        "A notice that the terminal may show on the desktop: none, osc9 or osc777.",
    ),
    setting(
        "notify",
        "command",
        "[]",
        "A program with its arguments, run without a shell; it gets the notice as JSON on standard input.",
    ),
    setting(
        "notify",
        "webhook",
        "\"\"",
        "A http or https address that the same JSON is posted to: within 10 s, following no redirect. The address may\n# hold a secret; no message or log says it.",
    ),
    setting(
        "notify",
        "every_s",
        "30",
        "Notices are at least so many seconds apart; what came meanwhile is in the next one, once.",
    ),
    setting(
        "run",
        "resume",
        "\"when-clean\"",
        "After an unclean stop the ledger is compared with the world before anything is started. when-clean: goes on\n# by itself when nothing differs, else waits until you accept (dogwatch drift); ask: always waits; auto: takes the\n# world's word for every difference, writes that down and goes on.",
    ),
];

/// Settings of this account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// A theme's name.
    pub theme: String,
    /// `auto`, `always`, `never`.
    pub color: String,
    /// `auto`, `always`, `never`.
    pub ascii: String,
    /// At most two frames a second.
    pub calm: bool,
    /// How to say that something needs a person.
    pub notify: NotifyBy,
    /// What an engine does after an unclean stop.
    pub resume: Resume,
    /// Actions with keys of their own.
    pub keys: Vec<(String, Vec<Key>)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            theme: "default".to_owned(),
            color: "auto".to_owned(),
            ascii: "auto".to_owned(),
            calm: false,
            notify: NotifyBy::default(),
            resume: Resume::default(),
            keys: Vec::new(),
        }
    }
}

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the default file, every setting explained.
    #[arg(long)]
    default: bool,
    /// The file to check; the default is in this account's configuration directory.
    #[arg(long, value_name = "FILE", env = "DOGWATCH_CONFIG")]
    config: Option<PathBuf>,
}

/// Prints the default file, or checks the one in force.
///
/// # Errors
/// When the file is wrong: the line, and what was probably meant.
pub fn run(args: &Args, common: &Common) -> Result<ExitCode, CliError> {
    if args.default {
        print_text(default_file().trim_end())?;
        return Ok(ExitCode::Done);
    }
    let path = args.config.clone().or_else(own_path);
    let there = path.as_ref().is_some_and(|path| path.exists());
    load(args.config.as_deref())?;
    let shown = path.map_or_else(String::new, |path| path.display().to_string());
    if common.json {
        print_json(
            "dogwatch.config/1",
            json!({ "path": shown, "exists": there }),
        )?;
    } else if there {
        print_text(&format!("{shown} is in order"))?;
    } else {
        print_text(&format!(
            "{shown} does not exist; defaults are in force\nwrite it: dogwatch config --default > FILE"
        ))?;
    }
    Ok(ExitCode::Done)
}

/// Where this account keeps its configuration.
pub fn config_dir() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "dogwatch").map(|dirs| dirs.config_dir().to_path_buf())
}

/// The file in force when none is named: the environment's, else this account's own.
pub fn config_path() -> Option<PathBuf> {
    match std::env::var_os("DOGWATCH_CONFIG") {
        Some(path) if !path.is_empty() => Some(PathBuf::from(path)),
        _ => own_path(),
    }
}

fn own_path() -> Option<PathBuf> {
    config_dir().map(|dir| dir.join("config.toml"))
}

/// Reads the file named, or this account's own; without one, the defaults.
///
/// # Errors
/// When the named one does not exist, or the file is wrong.
pub fn load(named: Option<&Path>) -> Result<Config, CliError> {
    let Some(path) = named.map(Path::to_path_buf).or_else(own_path) else {
        return Ok(Config::default());
    };
    if named.is_none() && !path.exists() {
        return Ok(Config::default());
    }
    let failed = |why: String| {
        CliError::new(
            format!("{}: {why}", path.display()),
            "Nothing was started. `dogwatch config --default` prints every setting.",
        )
    };
    let size = std::fs::metadata(&path)
        .map_err(|error| failed(error.to_string()))?
        .len();
    if size > MAX_FILE {
        return Err(failed(format!("larger than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    parse(&text).map_err(failed)
}

/// Parses a file strictly.
///
/// # Errors
/// `line 3: …`, with the nearest known name for one that is not known.
pub fn parse(text: &str) -> Result<Config, String> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(1, |span| line_of(text, &span));
        format!("line {at}: {}", error.message())
    })?;
    let reading = Reading { text };
    let mut config = Config::default();
    let root = document.as_table();
    for (key, item) in root {
        match (key, item) {
            ("notify" | "run", Item::Table(table)) => {
                let name = key;
                for (key, item) in table {
                    reading.set(&mut config, name, table, key, item)?;
                }
            }
            ("keys", Item::Table(table)) => reading.keys(&mut config, table)?,
            // Read where they are needed, and checked here all the same.
            ("provider", Item::Table(_)) => providers(text)?,
            ("notify" | "run" | "keys" | "provider", _) => {
                return Err(reading.at(root, key, &format!("[{key}] is a table")));
            }
            _ => reading.set(&mut config, "", root, key, item)?,
        }
    }
    Ok(config)
}

/// Tables of providers, as a goal file has them.
fn providers(text: &str) -> Result<(), String> {
    match crate::contract::parse::parse_providers(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.problems.first().map_or_else(String::new, |one| {
            let hint = match &one.hint {
                Some(hint) => format!("; {hint}"),
                None => String::new(),
            };
            format!("line {}: {}{hint}", one.line, SafeText::line(&one.message))
        })),
    }
}

struct Reading<'t> {
    text: &'t str,
}

impl Reading<'_> {
    fn at(&self, table: &Table, key: &str, why: &str) -> String {
        let span = table.key(key).and_then(toml_edit::Key::span);
        let line = span.map_or(1, |span| line_of(self.text, &span));
        format!("line {line}: {why}")
    }

    fn unknown<'n>(
        &self,
        table: &Table,
        key: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> String {
        let shown = SafeText::line(key).into_string();
        let nearest = known
            .map(|name| (strsim::damerau_levenshtein(name, key), name))
            .min()
            .filter(|(distance, _)| *distance <= 3)
            .map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"));
        self.at(table, key, &format!("{shown} is no setting{nearest}"))
    }

    fn no_setting(&self, table: &Table, name: &str, key: &str) -> String {
        let tables: &[&str] = if name.is_empty() {
            &["notify", "run", "keys"]
        } else {
            &[]
        };
        let known = SETTINGS
            .iter()
            .filter(|one| one.table == name)
            .map(|one| one.key)
            .chain(tables.iter().copied());
        self.unknown(table, key, known)
    }

    fn set(
        &self,
        config: &mut Config,
        name: &str,
        table: &Table,
        key: &str,
        item: &Item,
    ) -> Result<(), String> {
        let wrong = |why: String| self.at(table, key, &format!("{key} {why}"));
        let one_of = |words: &[&str]| -> Result<String, String> {
            let text = item.as_str().unwrap_or_default();
            if words.contains(&text) {
                return Ok(text.to_owned());
            }
            Err(wrong(format!("is one of {}", words.join(", "))))
        };
        let flag = || {
            item.as_bool()
                .ok_or_else(|| wrong("is true or false".to_owned()))
        };
        const WHEN: &[&str] = &["auto", "always", "never"];
        match (name, key) {
            ("", "theme") => match item.as_str() {
                Some(text) => text.clone_into(&mut config.theme),
                None => return Err(wrong("is a name in quotes".to_owned())),
            },
            ("", "color") => config.color = one_of(WHEN)?,
            ("", "ascii") => config.ascii = one_of(WHEN)?,
            ("", "calm") => config.calm = flag()?,
            ("notify", "bell") => config.notify.bell = flag()?,
            ("notify", "desktop") => {
                config.notify.desktop = match one_of(&["none", "osc9", "osc777"])?.as_str() {
                    "osc9" => Desktop::Osc9,
                    "osc777" => Desktop::Osc777,
                    _ => Desktop::None,
                };
            }
            ("notify", "command") => {
                config.notify.command = texts(item)
                    .filter(|words| words.len() <= MAX_COMMAND)
                    .ok_or_else(|| wrong("is a list of texts, program first".to_owned()))?;
            }
            ("notify", "webhook") => {
                let text = item.as_str().unwrap_or("-");
                let plain = text.chars().all(|c| c.is_ascii_graphic());
                let known = text.starts_with("https://") || text.starts_with("http://");
                if !(text.is_empty() || plain && known) {
                    return Err(wrong("is a http or https address".to_owned()));
                }
                config.notify.webhook = (!text.is_empty()).then(|| Webhook {
                    url: text.to_owned(),
                    post: crate::world::http::post_json,
                });
            }
            ("notify", "every_s") => {
                let seconds = item
                    .as_integer()
                    .filter(|seconds| (1..=MAX_EVERY_S).contains(seconds))
                    .ok_or_else(|| wrong(format!("is a number from 1 to {MAX_EVERY_S}")))?;
                config.notify.every_ms = seconds.unsigned_abs() * 1_000;
            }
            ("run", "resume") => {
                config.resume = Resume::from_word(&one_of(Resume::WORDS)?).unwrap_or_default();
            }
            _ => return Err(self.no_setting(table, name, key)),
        }
        Ok(())
    }

    fn keys(&self, config: &mut Config, table: &Table) -> Result<(), String> {
        for (name, item) in table {
            if ACTIONS.iter().all(|entry| entry.name != name) {
                return Err(self.unknown(table, name, ACTIONS.iter().map(|entry| entry.name)));
            }
            let wrong = |why: &str| self.at(table, name, &format!("{name}: {why}"));
            let words = texts(item).ok_or_else(|| wrong("write a list of keys in quotes"))?;
            let keys: Result<Vec<Key>, String> =
                words.iter().map(|word| Key::parse(word)).collect();
            let keys = keys.map_err(|why| wrong(&SafeText::line(&why).into_string()))?;
            config.keys.push((name.to_owned(), keys));
            // Each alone, so that the message has the line of the one that conflicts.
            Keymap::new(false)
                .with(&config.keys)
                .map_err(|why| wrong(&why))?;
        }
        Ok(())
    }
}

fn texts(item: &Item) -> Option<Vec<String>> {
    let array = item.as_array()?;
    array
        .iter()
        .map(|value: &Value| value.as_str().map(str::to_owned))
        .collect()
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.get(..span.start).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// The default file: every setting with what it does, commented out.
pub fn default_file() -> String {
    let mut out = String::from(
        "# dogwatch's interface. Every line that begins with #: what it says is in force already.\n\
         # Options on the command line win over this file.\n",
    );
    let mut table = "";
    for one in SETTINGS {
        if one.table != table {
            table = one.table;
            out.push_str(&format!("\n[{table}]\n"));
        }
        out.push_str(&format!(
            "\n# {}\n# {} = {}\n",
            one.help, one.key, one.default
        ));
    }
    out.push_str(
        "\n# Language models that the goals of this host may use; a goal file's own table of a name wins. All keys:\n\
         # docs/workers.md. For example:\n#   [provider.anthropic]\n#   api_key = { env = \"ANTHROPIC_API_KEY\" }\n",
    );
    out.push_str(
        "\n# Keys by action. A list replaces all keys of the action; two actions on one key in one view\n\
         # are refused by name. Keys: x, X, Space, Enter, Tab, PgUp, Ctrl-L.\n[keys]\n\n",
    );
    let keymap = Keymap::new(false);
    for entry in ACTIONS {
        let keys: Vec<String> = keymap
            .keys_of(entry)
            .iter()
            .map(|key| format!("{:?}", key.label()))
            .collect();
        out.push_str(&format!(
            "# {}\n# {} = [{}]\n",
            entry.help,
            entry.name,
            keys.join(", ")
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default file with its settings in force.
    fn uncommented() -> String {
        let is_setting = |line: &str| {
            let name = line.split(" = ").next().unwrap_or("");
            line.contains(" = ")
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || "_-".contains(c))
        };
        default_file()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if is_setting(rest) => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect()
    }

    #[test]
    fn the_default_file_is_the_defaults_written_out() {
        assert_eq!(parse(&default_file()), Ok(Config::default()));
        let all = parse(&uncommented()).unwrap();
        assert_eq!(all.keys.len(), ACTIONS.len());
        assert_eq!(
            Config {
                keys: vec![],
                ..all
            },
            Config::default()
        );
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_was_meant() {
        for (text, wanted) in [
            (
                "calm = true\nthem = \"dark\"",
                "line 2: them is no setting; did you mean theme?",
            ),
            (
                "[notify]\nbel = true",
                "line 2: bel is no setting; did you mean bell?",
            ),
            (
                "color = \"blue\"",
                "line 1: color is one of auto, always, never",
            ),
            ("notify = true", "line 1: [notify] is a table"),
            (
                "[run]\nresume = \"always\"",
                "line 2: resume is one of when-clean, ask, auto",
            ),
            (
                "[notify]\nwebhook = \"file:///etc\"",
                "line 2: webhook is a http or https address",
            ),
            (
                "[keys]\naprove = [\"A\"]",
                "line 2: aprove is no setting; did you mean approve?",
            ),
            (
                "[keys]\nfreeze = [\"Hyper-X\"]",
                "line 2: freeze: Hyper-X is no key",
            ),
        ] {
            assert_eq!(parse(text), Err(wanted.to_owned()), "{text}");
        }
        assert!(parse("calm = ").unwrap_err().starts_with("line 1: "));
    }

    /// Requirement 16.
    #[test]
    fn requirement_16_keys_are_rebound_and_conflicts_refused_by_name() {
        let config = parse("[keys]\nfreeze = [\"F\"]\n").unwrap();
        assert_eq!(config.keys, [("freeze".to_owned(), vec![Key::char('F')])]);
        let why = parse("[keys]\nhelp = [\"F\"]\nfreeze = [\"y\"]\n").unwrap_err();
        assert!(why.starts_with("line 3: ") && why.contains("copy"), "{why}");
        let why = parse("[keys]\nfreeze = [\"Ctrl-B\"]\n").unwrap_err();
        assert!(why.contains("Ctrl-B cannot be bound"), "{why}");
    }
}
