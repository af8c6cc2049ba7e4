//! Flags of verbs that take keys.

use clap::Args;
use linerate_record::experiment::KeySource;

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Credentials")]
pub(crate) struct Keys {
    /// Access key. [env: WARP_ACCESS_KEY, AWS_ACCESS_KEY_ID]
    #[arg(long, value_name = "KEY")]
    pub(crate) access_key: Option<String>,
    /// Secret key. Prefer the environment: every user of this machine can read the arguments of a process.
    /// [env: WARP_SECRET_KEY, AWS_SECRET_ACCESS_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) secret_key: Option<String>,
    /// Session token of temporary credentials. [env: WARP_SESSION_TOKEN, AWS_SESSION_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) session_token: Option<String>,
    /// Profile of ~/.aws/credentials and ~/.aws/config, for values that no flag gives. `default` is read automatically
    /// if neither flags nor the environment give keys. [env: AWS_PROFILE]
    #[arg(long, value_name = "NAME", conflicts_with = "anonymous")]
    pub(crate) profile: Option<String>,
    /// Region in signatures. [env: WARP_REGION, AWS_REGION, AWS_DEFAULT_REGION] [default: us-east-1]
    #[arg(long)]
    pub(crate) region: Option<String>,
    /// Send unsigned requests, for a public bucket.
    #[arg(long, conflicts_with_all = ["access_key", "secret_key", "session_token"])]
    pub(crate) anonymous: bool,
    /// The alias of mc that the keys come from, where no flag was typed that gives them.
    #[arg(skip)]
    pub(crate) from_alias: Option<String>,
}

impl Keys {
    /// Where the keys come from, as far as a name says it: keys that flags gave are left to the environment.
    pub(crate) fn source(&self) -> KeySource {
        let is_typed = self.access_key.is_some() || self.secret_key.is_some();
        match (&self.from_alias, &self.profile) {
            (Some(alias), _) => KeySource::Alias(alias.clone()),
            (None, Some(profile)) if !is_typed => KeySource::Profile(profile.clone()),
            _ => KeySource::Environment,
        }
    }
}
