//! By what requests prove who asks: what a kubeconfig has, what its token file has, or what its command says. The last
//! two are renewed.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use kube::config::{AuthInfo, AuthProviderConfig};
use secrecy::ExposeSecret as _;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::credential_command::{CommandCredential, CredentialCommand};
use crate::error::KubeError;
use crate::kubeconfig_files::FileReader;

/// Longest token that is read.
const TOKEN_BYTES_MAX: u64 = 1 << 20;

/// How long a token file is believed, as client-go does.
const FILE_HOLDS: SignedDuration = SignedDuration::from_secs(60);

/// So long before its end a token of a command is renewed.
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_secs(60);

/// What proves who asks, from now on.
pub(crate) struct Credentials {
    source: CredentialSource,
    proof: Mutex<Proof>,
}

#[derive(Clone)]
enum CredentialSource {
    /// The kubeconfig itself, which is read once.
    Kubeconfig,
    TokenFile {
        path: String,
        read: FileReader,
    },
    Command(CredentialCommand),
}

#[derive(Clone, Default)]
struct Proof {
    /// `Authorization`; absent where a certificate proves it, or nothing.
    header: Option<HeaderValue>,
    /// From when on it is renewed; absent where it holds for ever.
    until: Option<Timestamp>,
}

impl Credentials {
    /// Takes what proves who asks out of a user of a kubeconfig, but certificates, which stay there. Its token file is
    /// read, or its command runs.
    ///
    /// # Errors
    /// [`KubeError::Kubeconfig`], [`KubeError::Plugin`].
    pub(crate) fn take(user: &mut AuthInfo, read: FileReader) -> Result<Credentials, KubeError> {
        let (provider, exec) = (user.auth_provider.take(), user.exec.take());
        let pair = user.username.take().zip(user.password.take());
        let (token, file) = (user.token.take(), user.token_file.take().filter(|path| !path.is_empty()));
        let fixed = |header| Ok((CredentialSource::Kubeconfig, Proof { header, until: None }));
        let found: Result<_, KubeError> = if let Some(provider) = provider {
            of_provider(provider)
        } else if let Some((name, password)) = pair {
            let pair = STANDARD.encode(format!("{name}:{}", password.expose_secret()));
            fixed(Some(header("password", &format!("Basic {pair}"))?))
        } else if let Some(token) = token {
            fixed(Some(bearer("token", token.expose_secret())?))
        } else if let Some(path) = file {
            let source = CredentialSource::TokenFile { path, read };
            source.proof().map(|(proof, _)| (source, proof))
        } else if let Some(exec) = exec {
            let source = CredentialSource::Command(CredentialCommand::Exec(Box::new(exec)));
            source.proof().map(|(proof, identity)| {
                if let Some((certificate, key)) = identity {
                    user.client_certificate_data = Some(STANDARD.encode(certificate));
                    user.client_key_data = Some(STANDARD.encode(key).into());
                }
                (source, proof)
            })
        } else {
            fixed(None)
        };
        let (source, proof) = found?;
        Ok(Credentials { source, proof: Mutex::new(proof) })
    }

    /// The header of the next request.
    ///
    /// # Errors
    /// [`KubeError::Plugin`]. A token file that is not there any more proves it as before.
    pub(crate) async fn header(&self) -> Result<Option<HeaderValue>, KubeError> {
        let mut proof = self.proof.lock().await;
        if proof.until.is_some_and(|until| Timestamp::now() >= until) {
            let source = self.source.clone();
            let renewed = spawn_blocking(move || source.proof()).await;
            match (renewed, &self.source) {
                (Ok(Ok((renewed, _))), _) => *proof = renewed,
                (Ok(Err(fault)), CredentialSource::Command(_)) => return Err(fault),
                _ => proof.until = Some(Timestamp::now() + FILE_HOLDS),
            }
        }
        Ok(proof.header.clone())
    }
}

/// A certificate and its key, in PEM.
type Identity = (String, String);

impl CredentialSource {
    /// What it says now.
    fn proof(&self) -> Result<(Proof, Option<Identity>), KubeError> {
        match self {
            CredentialSource::Kubeconfig => Ok((Proof::default(), None)),
            CredentialSource::TokenFile { path, read } => {
                let failed = |why: String| KubeError::Kubeconfig(format!("tokenFile {path}: {why}"));
                let bytes = read(Path::new(path), TOKEN_BYTES_MAX).map_err(|error| failed(error.to_string()))?;
                let token = str::from_utf8(&bytes).map_err(|_| failed("it is not text".to_owned()))?.trim();
                let header = Some(bearer(&format!("tokenFile {path}"), token)?);
                Ok((Proof { header, until: Some(Timestamp::now() + FILE_HOLDS) }, None))
            }
            CredentialSource::Command(command) => {
                let CommandCredential { token, until, identity } = command.run()?;
                let header = token.map(|token| bearer("the token of its command", &token)).transpose()?;
                Ok((Proof { header, until: until.map(|until| until - RENEWED_BEFORE) }, identity))
            }
        }
    }
}

/// What kubectl took of an `auth-provider` up to 1.25.
fn of_provider(provider: AuthProviderConfig) -> Result<(CredentialSource, Proof), KubeError> {
    let AuthProviderConfig { name, config, .. } = provider;
    let fixed = |header| Ok((CredentialSource::Kubeconfig, Proof { header: Some(header), until: None }));
    if let Some(token) = config.get("id-token").filter(|_| ["oidc", "gcp"].contains(&name.as_str())) {
        return fixed(bearer("id-token", token)?);
    }
    if name != "gcp" {
        return Err(KubeError::Kubeconfig(format!("its auth-provider {name:?} is not supported: use exec")));
    }
    let until: Option<Timestamp> = config.get("expiry").and_then(|text| text.parse().ok());
    let holds = until.is_some_and(|until| Timestamp::now() + RENEWED_BEFORE < until);
    let kept = config.get("access-token").filter(|_| holds).cloned();
    if !config.contains_key("cmd-path") {
        let none = || KubeError::Kubeconfig("its auth-provider has no token and no command: use exec".to_owned());
        return fixed(bearer("access-token", &kept.ok_or_else(none)?)?);
    }
    let source = CredentialSource::Command(CredentialCommand::Provider(config));
    let proof = match kept {
        Some(token) => {
            let until = until.map(|until| until - RENEWED_BEFORE);
            Proof { header: Some(bearer("access-token", &token)?), until }
        }
        None => source.proof()?.0,
    };
    Ok((source, proof))
}

fn bearer(what: &str, token: &str) -> Result<HeaderValue, KubeError> {
    header(what, &format!("Bearer {token}"))
}

/// A header that is shown nowhere. What cannot be one is not shown either.
fn header(what: &str, text: &str) -> Result<HeaderValue, KubeError> {
    let invalid = || {
        let why = "it has a line break or another character that no HTTP header can have";
        KubeError::Kubeconfig(format!("{what} cannot be sent: {why}"))
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| invalid())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn user(text: &str) -> AuthInfo {
        serde_saphyr::from_str(text).unwrap()
    }

    fn read(path: &Path, _: u64) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn header_of(text: &str) -> Result<Option<String>, String> {
        let credentials = Credentials::take(&mut user(text), read).map_err(|fault| fault.to_string())?;
        let header = credentials.proof.into_inner().header;
        Ok(header.map(|header| header.to_str().unwrap().to_owned()))
    }

    #[test]
    fn each_way_of_a_kubeconfig_to_prove_who_asks_is_a_header() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "of-a-file\n").unwrap();
        let exec =
            "{exec: {interactiveMode: Never, command: sh, args: [-c, 'echo \"status: {token: of-a-command}\"']}}";
        for (text, expected) in [
            ("{token: t}", "Bearer t"),
            ("{username: u, password: p}", "Basic dTpw"),
            (&format!("{{tokenFile: '{}'}}", file.display()), "Bearer of-a-file"),
            (exec, "Bearer of-a-command"),
            ("{auth-provider: {name: oidc, config: {id-token: i}}}", "Bearer i"),
            ("{auth-provider: {name: gcp, config: {cmd-path: echo, cmd-args: g}}}", "Bearer g"),
        ] {
            assert_eq!(header_of(text).unwrap().as_deref(), Some(expected), "{text}");
        }
        assert_eq!(header_of("{}").unwrap(), None);
        let identity = "{exec: {interactiveMode: Never, command: sh, args: [-c, \
                        'echo \"status: {clientCertificateData: C, clientKeyData: K}\"']}}";
        let mut user = user(identity);
        Credentials::take(&mut user, read).unwrap();
        assert_eq!(user.client_certificate_data.as_deref(), Some("Qw=="));
        assert!(user.exec.is_none() && user.client_key_data.is_some());
    }

    #[test]
    fn what_cannot_be_sent_or_read_is_named_and_not_shown() {
        for (text, expected) in [
            ("{token: \"a-secret\\nof-two-lines\"}", "token cannot be sent"),
            ("{tokenFile: /nonexistent/token}", "tokenFile /nonexistent/token: No such file"),
            ("{auth-provider: {name: azure}}", "auth-provider \"azure\" is not supported"),
        ] {
            let why = header_of(text).unwrap_err();
            assert!(why.contains("the kubeconfig cannot be used") && why.contains(expected), "{text}: {why}");
            assert!(!why.contains("a-secret"), "{text}: {why}");
        }
    }
}
