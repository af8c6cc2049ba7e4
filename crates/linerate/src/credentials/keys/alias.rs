//! Keys of an alias of mc, which are for the hosts that it stands for.

use linerate_load::hosts;
use linerate_record::load::{Endpoint, Server};

use super::Keys;
use crate::credentials::mc_alias;
use crate::credentials::mc_alias::Alias;
use crate::files::limited_read;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// The keys of an alias for an endpoint that was described by it. One that has been pointed elsewhere since, or has
/// lost its keys, has none for it.
pub(crate) fn keys_for_endpoint(name: &str, endpoint: &Endpoint) -> Result<Keys, Failure> {
    let Server::Hosts { authorities, .. } = &endpoint.server else { return Ok(Keys::default()) };
    let keys = for_hosts(name, authorities, endpoint.tls.is_some(), |other, own| {
        format!(
            "mc alias {name:?} now stands for {other}, but the experiment loads {own}: point the alias back, or begin \
             a new experiment"
        )
    })?;
    if keys.anonymous != endpoint.anonymous {
        return Err(Failure::usage(format!(
            "mc alias {name:?} has {} now, unlike when the experiment began: restore it, or begin a new one",
            if keys.anonymous { "no keys" } else { "keys" }
        )));
    }
    Ok(keys)
}

/// The keys of an alias for the hosts of a run: for no others are they meant.
pub(crate) fn keys_for_hosts(name: &str, authorities: &[String], tls: bool) -> Result<Keys, Failure> {
    for_hosts(name, authorities, tls, |other, own| {
        format!(
            "mc alias {name:?} stands for {other}, but the run loaded {own}: name an alias of these, or give keys by \
             the environment"
        )
    })
}

/// The keys of an alias that stands for these hosts, or what is said of one that stands for others.
fn for_hosts(
    name: &str,
    authorities: &[String],
    tls: bool,
    refused: impl FnOnce(&str, &str) -> String,
) -> Result<Keys, Failure> {
    let alias = read_alias(name)?;
    let stands_for =
        hosts::parse(&alias.url, tls, limited_read::read_text).map_err(|e| Failure::usage(e.to_string()))?;
    if stands_for.authorities != *authorities || stands_for.tls != tls {
        return Err(Failure::usage(refused(&stands_for.authorities.join(", "), &authorities.join(", "))));
    }
    let mut keys = Keys::default();
    fill_keys(&mut keys, name, alias);
    Ok(keys)
}

/// The alias of a name. What it holds is told nowhere.
pub(crate) fn read_alias(name: &str) -> Result<Alias, Failure> {
    let alias = mc_alias::find_alias(name)?;
    key_masks::remember_key_name(&alias.access_key);
    [&alias.secret_key, &alias.session_token].into_iter().for_each(|key| key_masks::remember_secret(key));
    Ok(alias)
}

/// Takes the keys of an alias.
pub(crate) fn fill_keys(keys: &mut Keys, name: &str, alias: Alias) {
    keys.anonymous = alias.access_key.is_empty() && alias.secret_key.is_empty();
    let some = |text: String| Some(text).filter(|t| !t.is_empty());
    keys.from_alias = Some(name.to_owned());
    keys.access_key = some(alias.access_key);
    keys.secret_key = some(alias.secret_key);
    keys.session_token = keys.session_token.take().or_else(|| some(alias.session_token));
}
