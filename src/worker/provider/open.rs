//! From settings to providers.

use super::Provider;
use super::http::HttpProvider;
use crate::contract::ProviderSettings;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What came of opening providers.
#[derive(Default)]
pub struct Opened {
    /// Those that can be asked, by name.
    pub providers: BTreeMap<String, Arc<dyn Provider>>,
    /// Their keys, to be struck out of whatever is kept or shown.
    pub secrets: Vec<String>,
    /// Name and reason of those that cannot: one sentence, without a secret.
    pub problems: Vec<(String, String)>,
}

/// Opens every provider: reads its key, sends nothing. One that cannot be opened does not keep the others
/// from it. Relative paths of key files start at `base_dir`.
pub fn open(settings: &BTreeMap<String, ProviderSettings>, base_dir: &Path) -> Opened {
    let mut opened = Opened::default();
    for (name, one) in settings {
        match HttpProvider::new(one.clone(), base_dir) {
            Ok(provider) => {
                opened.secrets.extend(provider.secret());
                opened.providers.insert(name.clone(), Arc::new(provider));
            }
            Err(why) => opened.problems.push((name.clone(), why)),
        }
    }
    opened
}
