//! bubblewrap around an agent: the whole host read-only, its own folder writable, nothing else.

use std::path::{Path, PathBuf};

/// What stands around an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// bubblewrap where it is installed.
    WhenPresent,
    /// Nothing starts without it.
    Required,
    /// None.
    None,
}

/// Where bubblewrap is, by `PATH`.
pub fn find_bubblewrap() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("bwrap"))
        .find(|file| file.is_file())
}

impl Sandbox {
    /// A command line with the sandbox around it, where there is one.
    ///
    /// # Errors
    /// When it is required and bubblewrap is absent.
    pub(super) fn around(self, argv: Vec<String>, folder: &Path) -> Result<Vec<String>, String> {
        match (self, find_bubblewrap()) {
            (Self::None, _) | (Self::WhenPresent, None) => Ok(argv),
            (Self::Required, None) => Err(
                "sandbox = \"bubblewrap\", but bwrap is not in PATH; install bubblewrap or change the strategy"
                    .to_owned(),
            ),
            (_, Some(bwrap)) => Ok(wrapped(&bwrap, argv, folder)),
        }
    }
}

fn wrapped(bwrap: &Path, argv: Vec<String>, folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let mut words = vec![bwrap.to_string_lossy().into_owned()];
    words.extend(
        [
            "--die-with-parent",
            "--unshare-all",
            // The proxy is on loopback.
            "--share-net",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            // What others keep there is neither seen nor changed.
            "--tmpfs",
            "/tmp",
            "--bind",
            folder.as_ref(),
            folder.as_ref(),
            "--chdir",
            folder.as_ref(),
            "--",
        ]
        .map(str::to_owned),
    );
    words.extend(argv);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_attempts_folder_is_writable() {
        let words = wrapped(
            Path::new("/usr/bin/bwrap"),
            vec!["claude".to_owned(), "-p".to_owned()],
            Path::new("/var/scratch/a"),
        );
        let line = words.join(" ");
        assert!(line.starts_with(
            "/usr/bin/bwrap --die-with-parent --unshare-all --share-net --ro-bind / / "
        ));
        assert!(
            line.ends_with(
                "--bind /var/scratch/a /var/scratch/a --chdir /var/scratch/a -- claude -p"
            )
        );
        assert_eq!(words.iter().filter(|word| *word == "--bind").count(), 1);
    }

    #[test]
    fn without_a_sandbox_the_command_line_is_as_it_was() {
        let argv = vec!["codex".to_owned()];
        assert_eq!(
            Sandbox::None.around(argv.clone(), Path::new("/x")),
            Ok(argv)
        );
    }
}
