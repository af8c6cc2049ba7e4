//! Records of TLS 1.3 once hands are shaken: opened where they lie, sealed into memory that goes to the kernel as it
//! is.
//!
//! rustls's connections make a vector of the data of each record that they open, and copy each that they seal once
//! more. Its ciphers do not, and are used here without what is around them: nonces, tags and padding stay rustls's
//! ([`rustls::crypto::cipher`]), and so do new keys and session tickets ([`rustls::kernel`]). What a record is, and
//! what may be in one behind the handshake, is here (RFC 8446, sections 4.6, 5 and 6).

use rustls::crypto::cipher::{
    InboundOpaqueMessage, MessageDecrypter, MessageEncrypter, OutboundChunks, OutboundPlainMessage,
};
use rustls::kernel::KernelConnection;
use rustls::{
    AlertDescription, ConnectionTrafficSecrets, ContentType, Error, ExtractedSecrets, HandshakeType, InvalidMessage,
    PeerMisbehaved, ProtocolVersion, SupportedCipherSuite, Tls13CipherSuite,
};

/// Header of a record: its type, a version that says nothing any more, and its length.
const HEADER_BYTES: usize = 5;

/// Longest record behind its header: 16 KiB of data, and 256 bytes that a cipher and padding may add.
const CIPHERTEXT_BYTES_MAX: usize = (16 << 10) + 256;

/// Longest message of the protocol itself: a session ticket has less than two kibibytes where it holds no certificate.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Notes a session ticket of the peer's.
pub(crate) type TakeTicket<D> = fn(&mut KernelConnection<D>, &[u8]) -> Result<(), Error>;

/// Both directions of a connection.
pub struct TlsRecords<D> {
    kernel: KernelConnection<D>,
    suite: &'static Tls13CipherSuite,
    decrypter: Box<dyn MessageDecrypter>,
    encrypter: Box<dyn MessageEncrypter>,
    /// Records opened, and sealed, with the keys of now.
    opened: u64,
    sealed: u64,
    /// Most records to seal with one key: the cipher's own limit.
    sealed_max: u64,
    /// A message of the protocol that is not whole yet.
    message: Vec<u8>,
    /// The peer asks for new keys.
    is_requested: bool,
    take_ticket: TakeTicket<D>,
}

/// What records held, besides data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Bytes of whole records.
    pub(crate) bytes: usize,
    /// The peer sends no more.
    pub(crate) closed: bool,
}

impl<D> TlsRecords<D> {
    /// Goes on from where rustls leaves off.
    ///
    /// # Errors
    /// Where it is not TLS 1.3.
    pub(crate) fn new(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<D>,
        take_ticket: TakeTicket<D>,
    ) -> Result<Self, Error> {
        let SupportedCipherSuite::Tls13(suite) = kernel.negotiated_cipher_suite() else {
            return Err(Error::General("not TLS 1.3".into()));
        };
        let ((sealed, tx), (opened, rx)) = (secrets.tx, secrets.rx);
        Ok(TlsRecords {
            kernel,
            suite,
            decrypter: decrypter(suite, rx)?,
            encrypter: encrypter(suite, tx)?,
            opened,
            sealed,
            sealed_max: suite.common.confidentiality_limit,
            message: Vec::new(),
            is_requested: false,
            take_ticket,
        })
    }

    /// Opens every whole record of `incoming`, and hands their data on.
    ///
    /// # Errors
    /// What is wrong with a record, after which the connection is of no use.
    pub(crate) fn open(&mut self, incoming: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> Result<Opened, Error> {
        let mut bytes = 0;
        while let Some(&[kind, _, _, high, low]) = incoming[bytes..].first_chunk::<HEADER_BYTES>() {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if kind != u8::from(ContentType::ApplicationData) {
                return Err(InvalidMessage::InvalidContentType.into());
            }
            if length > CIPHERTEXT_BYTES_MAX {
                return Err(Error::PeerSentOversizedRecord);
            }
            let from = bytes + HEADER_BYTES;
            let Some(payload) = incoming.get_mut(from..from + length) else { break };
            bytes = from + length;
            let sealed = InboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload);
            let record = self.decrypter.decrypt(sealed, self.opened)?;
            self.opened += 1;
            if record.typ != ContentType::Handshake && !self.message.is_empty() {
                return Err(PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into());
            }
            match (record.typ, record.payload) {
                (ContentType::ApplicationData, data) => sink(data),
                (ContentType::Handshake, part @ [_, ..]) => self.take_messages(part)?,
                // What the peer's own user did; its closing follows.
                (ContentType::Alert, [_, 90]) => {}
                (ContentType::Alert, [_, 0]) => return Ok(Opened { bytes, closed: true }),
                (ContentType::Alert, [_, why]) => return Err(Error::AlertReceived(AlertDescription::from(*why))),
                (ContentType::Alert, [_, ..]) => return Err(InvalidMessage::TrailingData("alert").into()),
                _ => return Err(InvalidMessage::InvalidContentType.into()),
            }
        }
        Ok(Opened { bytes, closed: false })
    }

    /// Takes a record of the protocol's own messages: session tickets and new keys.
    fn take_messages(&mut self, part: &[u8]) -> Result<(), Error> {
        self.message.extend_from_slice(part);
        let message = std::mem::take(&mut self.message);
        let mut rest = &message[..];
        while let Some((&[kind, a, b, c], behind)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if length > MESSAGE_BYTES_MAX {
                return Err(InvalidMessage::HandshakePayloadTooLarge.into());
            }
            let Some((payload, behind)) = behind.split_at_checked(length) else { break };
            rest = behind;
            match (HandshakeType::from(kind), payload) {
                (HandshakeType::NewSessionTicket, ticket) => (self.take_ticket)(&mut self.kernel, ticket)?,
                // What follows is sealed with the new keys, and so in a record of its own.
                (HandshakeType::KeyUpdate, [asks @ (0 | 1)]) if rest.is_empty() => {
                    self.is_requested |= *asks == 1;
                    let (opened, secrets) = self.kernel.update_rx_secret()?;
                    (self.opened, self.decrypter) = (opened, decrypter(self.suite, secrets)?);
                }
                (HandshakeType::KeyUpdate, [0 | 1]) => {
                    return Err(PeerMisbehaved::KeyEpochWithPendingFragment.into());
                }
                (HandshakeType::KeyUpdate, [_]) => return Err(InvalidMessage::InvalidKeyUpdate.into()),
                (HandshakeType::KeyUpdate, _) => return Err(InvalidMessage::TrailingData("key update").into()),
                (kind, _) => {
                    return Err(Error::InappropriateHandshakeMessage { expect_types: Vec::new(), got_type: kind });
                }
            }
        }
        self.message = rest.to_vec();
        Ok(())
    }

    /// Seals one record of data, behind one of new keys where these are due.
    ///
    /// # Errors
    /// rustls's, which are of its ciphers.
    pub(crate) fn seal(&mut self, data: &[&[u8]], into: &mut Vec<Vec<u8>>) -> Result<(), Error> {
        // The record that tells of new keys is one of the old ones' own.
        if self.is_requested || self.sealed + 1 >= self.sealed_max {
            into.push(self.renew(false)?);
        }
        into.push(self.sealed(ContentType::ApplicationData, data)?);
        Ok(())
    }

    /// Seals with new keys from now on; returns the record that says so, and whether the peer is to do the same.
    fn renew(&mut self, asks: bool) -> Result<Vec<u8>, Error> {
        let reported =
            self.sealed(ContentType::Handshake, &[&[HandshakeType::KeyUpdate.into(), 0, 0, 1, asks.into()]])?;
        let (sealed, secrets) = self.kernel.update_tx_secret()?;
        (self.sealed, self.encrypter, self.is_requested) = (sealed, encrypter(self.suite, secrets)?, false);
        Ok(reported)
    }

    /// The record that tells the peer why the connection ends (RFC 8446: sections 4.6.3, 5.1 to 5.4 and 6.2).
    pub(crate) fn alert(&mut self, error: &Error) -> Option<Vec<u8>> {
        let why = match error {
            Error::AlertReceived(_) => return None,
            Error::DecryptError => AlertDescription::BadRecordMac,
            Error::PeerSentOversizedRecord => AlertDescription::RecordOverflow,
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => AlertDescription::UnexpectedMessage,
            Error::InvalidMessage(InvalidMessage::InvalidKeyUpdate) => AlertDescription::IllegalParameter,
            Error::InvalidMessage(_) => AlertDescription::DecodeError,
            _ => AlertDescription::UnexpectedMessage,
        };
        const FATAL: u8 = 2;
        self.sealed(ContentType::Alert, &[&[FATAL, why.into()]]).ok()
    }

    /// The record that tells the peer that nothing follows.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        const WARNING: u8 = 1;
        self.sealed(ContentType::Alert, &[&[WARNING, AlertDescription::CloseNotify.into()]]).ok()
    }

    fn sealed(&mut self, typ: ContentType, data: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let plain = OutboundPlainMessage { typ, version: ProtocolVersion::TLSv1_2, payload: OutboundChunks::new(data) };
        let record = self.encrypter.encrypt(plain, self.sealed)?;
        self.sealed += 1;
        Ok(record.encode())
    }
}

#[cfg(test)]
impl<D> TlsRecords<D> {
    pub(crate) fn seal_at_most(&mut self, records: u64) {
        self.sealed_max = records;
    }

    pub(crate) fn ask_for_keys(&mut self) -> Vec<u8> {
        self.renew(true).expect("it seals")
    }

    /// A record of the protocol's own messages.
    pub(crate) fn seal_message(&mut self, message: &[u8]) -> Vec<u8> {
        self.seal_as(ContentType::Handshake, message)
    }

    pub(crate) fn seal_as(&mut self, typ: ContentType, bytes: &[u8]) -> Vec<u8> {
        self.sealed(typ, &[bytes]).expect("it seals")
    }
}

fn decrypter(suite: &Tls13CipherSuite, secrets: ConnectionTrafficSecrets) -> Result<Box<dyn MessageDecrypter>, Error> {
    use ConnectionTrafficSecrets as Secrets;
    match secrets {
        Secrets::Aes128Gcm { key, iv } | Secrets::Aes256Gcm { key, iv } | Secrets::Chacha20Poly1305 { key, iv } => {
            Ok(suite.aead_alg.decrypter(key, iv))
        }
        _ => Err(Error::General("an unknown cipher".into())),
    }
}

fn encrypter(suite: &Tls13CipherSuite, secrets: ConnectionTrafficSecrets) -> Result<Box<dyn MessageEncrypter>, Error> {
    use ConnectionTrafficSecrets as Secrets;
    match secrets {
        Secrets::Aes128Gcm { key, iv } | Secrets::Aes256Gcm { key, iv } | Secrets::Chacha20Poly1305 { key, iv } => {
            Ok(suite.aead_alg.encrypter(key, iv))
        }
        _ => Err(Error::General("an unknown cipher".into())),
    }
}
