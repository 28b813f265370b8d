//! Themes: what each role looks like. Parsed strictly; the default uses the 16 colours and the
//! terminal's own foreground and background.

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

macro_rules! roles {
    ($($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        /// What a piece of text means.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Role {
            $($(#[$doc])* $variant),+
        }

        impl Role {
            /// All roles, each with its word in a theme file.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),+];
        }
    };
}

roles!(
    /// Plain text.
    #[default]
    Text = "text",
    /// Labels, what is over, what cannot be done now.
    Dim = "dim",
    /// Headings and names.
    Strong = "strong",
    /// A key that can be pressed.
    Key = "key",
    /// Passed, applied, cut over.
    Good = "good",
    /// Failed, refused, handed over.
    Bad = "bad",
    /// Paused, stale, unclear.
    Warn = "warn",
    /// Work that goes on.
    Info = "info",
    /// Waiting on the world.
    Wait = "wait",
    /// Waiting on a person.
    Person = "person",
    /// A line that a config gained.
    Added = "added",
    /// A line that a config lost.
    Removed = "removed",
    /// READ-ONLY, FROZEN, STALE.
    Banner = "banner",
    /// The selected row.
    Selected = "selected",
);

/// One look of every role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    styles: BTreeMap<Role, Style>,
    /// False: colours are left out, bold, dim and reverse stay.
    colour: bool,
}

/// Themes that are built in, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("default", include_str!("../../../themes/default.toml")),
    ("mono", include_str!("../../../themes/mono.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("dark", include_str!("../../../themes/dark.toml")),
    ("solarized", include_str!("../../../themes/solarized.toml")),
    (
        "high-contrast",
        include_str!("../../../themes/high-contrast.toml"),
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    roles: BTreeMap<String, Look>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    bold: bool,
    #[serde(default)]
    dim: bool,
    #[serde(default)]
    underline: bool,
    #[serde(default)]
    reverse: bool,
}

impl Theme {
    /// Parses a theme file.
    ///
    /// # Errors
    /// One sentence: an unknown key, role or colour, or a role that is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let mut styles = BTreeMap::new();
        for (word, look) in &file.roles {
            let Some((role, _)) = Role::ALL.iter().find(|(_, known)| known == word) else {
                return Err(format!("{word} is no role of a theme"));
            };
            styles.insert(*role, style(look)?);
        }
        if let Some((_, word)) = Role::ALL
            .iter()
            .find(|(role, _)| !styles.contains_key(role))
        {
            return Err(format!("the role {word} is missing"));
        }
        Ok(Self {
            name: file.name,
            styles,
            colour: true,
        })
    }

    /// A built-in theme.
    ///
    /// # Errors
    /// When there is none of that name; the message lists the names.
    pub fn built_in(name: &str) -> Result<Self, String> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(text),
            None => Err(format!(
                "there is no theme {name}; there are {}",
                BUILT_IN
                    .iter()
                    .map(|(name, _)| *name)
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        }
    }

    /// A built-in theme, or `NAME.toml` in a directory.
    ///
    /// # Errors
    /// When there is neither, or the file is wrong; the caller shows why and uses the default.
    pub fn find(name: &str, dir: Option<&Path>) -> Result<Self, String> {
        let known = Self::built_in(name);
        let plain_name = !name.contains(['/', '\\']) && !name.starts_with('.');
        let Some(file) = dir
            .filter(|_| known.is_err() && plain_name)
            .map(|dir| dir.join(format!("{name}.toml")))
            .filter(|file| file.exists())
        else {
            return known;
        };
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", file.display()))
    }

    /// A theme without any look: what remains when even the default cannot be read.
    pub fn plain() -> Self {
        Self {
            name: "plain".to_owned(),
            styles: BTreeMap::from([(
                Role::Selected,
                Style::new().add_modifier(Modifier::REVERSED),
            )]),
            colour: false,
        }
    }

    /// The same theme, with or without colours.
    #[must_use]
    pub fn with_colour(mut self, colour: bool) -> Self {
        self.colour = colour;
        self
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        let style = self.styles.get(&role).copied().unwrap_or_default();
        if self.colour {
            return style;
        }
        let bare = Style::new().add_modifier(style.add_modifier);
        // A look that was colour alone must still be told from plain text.
        if style.bg.is_some() && matches!(role, Role::Banner | Role::Selected) {
            bare.add_modifier(Modifier::REVERSED)
        } else {
            bare
        }
    }
}

fn style(look: &Look) -> Result<Style, String> {
    let mut style = Style::new();
    if let Some(word) = &look.fg {
        style = style.fg(colour(word)?);
    }
    if let Some(word) = &look.bg {
        style = style.bg(colour(word)?);
    }
    let modifiers = [
        (look.bold, Modifier::BOLD),
        (look.dim, Modifier::DIM),
        (look.underline, Modifier::UNDERLINED),
        (look.reverse, Modifier::REVERSED),
    ];
    for (wanted, modifier) in modifiers {
        if wanted {
            style = style.add_modifier(modifier);
        }
    }
    Ok(style)
}

fn colour(word: &str) -> Result<Color, String> {
    let named = match word {
        "default" => Color::Reset,
        "black" => Color::Black,
        "red" => Color::Red,
        "green" => Color::Green,
        "yellow" => Color::Yellow,
        "blue" => Color::Blue,
        "magenta" => Color::Magenta,
        "cyan" => Color::Cyan,
        "white" => Color::Gray,
        "bright_black" => Color::DarkGray,
        "bright_red" => Color::LightRed,
        "bright_green" => Color::LightGreen,
        "bright_yellow" => Color::LightYellow,
        "bright_blue" => Color::LightBlue,
        "bright_magenta" => Color::LightMagenta,
        "bright_cyan" => Color::LightCyan,
        "bright_white" => Color::White,
        other => {
            let hex = other
                .strip_prefix('#')
                .filter(|hex| hex.len() == 6)
                .and_then(|hex| u32::from_str_radix(hex, 16).ok())
                .ok_or_else(|| format!("{other} is no colour; write a name or #rrggbb"))?;
            let [_, red, green, blue] = hex.to_be_bytes();
            Color::Rgb(red, green, blue)
        }
    };
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_theme_parses_and_bears_its_name() {
        for (name, _) in BUILT_IN {
            assert_eq!(Theme::built_in(name).unwrap().name, *name);
        }
    }

    #[test]
    fn mistakes_are_named() {
        let text = BUILT_IN[0].1;
        let wrong = text.replace("dim = {", "dimm = {");
        assert!(Theme::parse(&wrong).unwrap_err().contains("dimm"));
        let wrong = text.replace("\"green\"", "\"grene\"");
        assert!(Theme::parse(&wrong).unwrap_err().contains("grene"));
        assert!(Theme::built_in("pink").unwrap_err().contains("default"));
    }

    #[test]
    fn without_colour_the_selection_is_still_reverse() {
        for (name, _) in BUILT_IN {
            let theme = Theme::built_in(name).unwrap().with_colour(false);
            let style = theme.style(Role::Selected);
            assert!(style.add_modifier.contains(Modifier::REVERSED), "{name}");
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    fn luminance(red: u8, green: u8, blue: u8) -> f64 {
        let linear = |channel: u8| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.040_45 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    /// Requirement 11: the contrast of text in the RGB themes, as WCAG computes it.
    #[test]
    fn requirement_11_text_of_the_rgb_themes_can_be_read() {
        let mut pairs = 0;
        for (name, _) in BUILT_IN {
            let theme = Theme::built_in(name).unwrap();
            for (role, word) in Role::ALL {
                let style = theme.style(*role);
                let (Some(Color::Rgb(r, g, b)), Some(Color::Rgb(r2, g2, b2))) =
                    (style.fg, style.bg)
                else {
                    continue;
                };
                let (one, other) = (luminance(r, g, b), luminance(r2, g2, b2));
                let ratio = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(ratio >= 4.5, "{name}: {word} has {ratio:.2}");
                pairs += 1;
            }
        }
        assert!(pairs >= 4 * Role::ALL.len());
    }

    #[test]
    fn the_default_theme_uses_only_the_sixteen_colours() {
        let theme = Theme::built_in("default").unwrap();
        for (role, word) in Role::ALL {
            let style = theme.style(*role);
            assert!(style.bg.is_none(), "{word} paints the background");
            assert!(!matches!(
                style.fg,
                Some(Color::Rgb(..) | Color::Indexed(_))
            ));
        }
    }
}
