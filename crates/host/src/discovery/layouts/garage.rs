//! Garage: folders and copies of its configuration file, which holds secrets too: nothing else of it is kept.

use super::super::{data_folders, inside};
use super::{DataLayout, EngineProcess, flag_value};
use crate::root::{ReadPass, note};

/// Folders of one process that are looked at.
const FOLDERS_MAX: usize = 1_024;

/// Where the file is unless it is named.
const FILE: &str = "/etc/garage.toml";

/// The name in the environment that names it.
const FILE_NAME: &str = "GARAGE_CONFIG_FILE";

/// Keys that state the number of copies; the second is that of versions before 1.0.
const COPIES: [&str; 2] = ["replication_factor", "replication_mode"];

pub(super) fn read(process: EngineProcess<'_>, pass: &mut ReadPass) -> DataLayout {
    let arguments = process.arguments(pass);
    let named = flag_value(&arguments, &["-c", "--config"]).map(str::to_owned);
    let named = named.or_else(|| process.environment(&[FILE_NAME], pass).remove(FILE_NAME));
    let file = named.filter(|file| file.starts_with('/')).unwrap_or_else(|| FILE.to_owned());
    let text = match inside::text(process.root, process.pid, &file) {
        Ok(text) => text,
        Err(error) => {
            note(pass, &process.inside(&file), error.to_string());
            return DataLayout::default();
        }
    };
    let volumes = data_folders_of(&text);
    let drives = data_folders::drives(process.root, process.pid, volumes.clone(), None, pass);
    let copies = COPIES.iter().find_map(|key| value_of(&text, key)).filter(|copies| copies.parse::<u32>().is_ok());
    let settings = copies.map(|copies| (COPIES[0].to_owned(), copies.to_owned())).into_iter().collect();
    DataLayout { volumes, settings, drives }
}

/// Lines of the topmost table: others have keys of the same names.
fn topmost(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).take_while(|line| !line.starts_with('['))
}

/// The value of a key, without quotes.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut values = topmost(text).filter_map(|line| line.split_once('=')).filter(|(name, _)| name.trim() == key);
    let (_, value) = values.next()?;
    Some(value.split('#').next().unwrap_or_default().trim().trim_matches('"'))
}

/// `data_dir = "/data"`, or a list of tables with a `path` each, in one line or several.
fn data_folders_of(text: &str) -> Vec<String> {
    let is_key = |line: &&str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "data_dir");
    let lines: Vec<&str> = topmost(text).skip_while(|line| !is_key(line)).collect();
    let joined = lines.join("\n");
    let value = joined.split_once('=').map_or("", |(_, value)| value.trim());
    if let Some(rest) = value.strip_prefix('[') {
        let list = rest.split(']').next().unwrap_or_default();
        let paths = list.split("path").skip(1).filter_map(|part| part.split_once('=')?.1.split('"').nth(1));
        return paths.take(FOLDERS_MAX).map(str::to_owned).collect();
    }
    let first = value.lines().next().unwrap_or_default();
    first.split('"').nth(1).map(str::to_owned).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::put;
    use super::*;
    use crate::root::Root;
    use proptest::prelude::*;

    #[test]
    fn folders_and_copies_are_read_and_secrets_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "proc/7/cmdline", "garage\0-c\0/etc/g.toml\0server\0");
        let several = "metadata_dir = \"/meta\"\ndata_dir = [\n  { path = \"/d1\", capacity = \"1\" },\n  \
                       { path = \"/d2\" },\n]\n";
        for (data, folders) in [(several, &["/d1", "/d2"][..]), ("data_dir = \"/d1\"\n", &["/d1"]), ("", &[])] {
            let text = format!(
                "{data}replication_factor = 3 # copies\nrpc_secret = \"abcdef\"\n[s3_api]\ndata_dir = \"/no\"\n"
            );
            put(&root, "proc/7/root/etc/g.toml", &text);
            put(&root, "proc/7/root/d1/x", "");
            put(&root, "proc/7/root/d2/x", "");
            let found = read(EngineProcess { root: &root, pid: 7, own: &[] }, &mut ReadPass::default());
            assert_eq!(found.volumes, folders, "{text}");
            assert_eq!(found.settings.get("replication_factor").map(String::as_str), Some("3"), "{text}");
            assert!(!format!("{found:?}").contains("abcdef"), "{found:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r#"(data_dir|path|=|\[|\]|"|\n|/d|é){0,20}|(?s).*"#) {
            data_folders_of(&text);
            value_of(&text, "replication_factor");
        }
    }
}
