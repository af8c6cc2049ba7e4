//! Multipart uploads that were not completed: aborted by their ids, and looked for below a prefix.

use super::{Answer, Bucket, BucketError, each_element};
use crate::multipart::Unfinished;
use crate::object::push_key;
use crate::sigv4::push_encoded_query;

/// Uploads per page of a listing.
const UPLOADS_MAX: usize = 1000;

/// Most pages of uploads that are aborted.
const PAGES_MAX: usize = 64;

impl Bucket<'_> {
    /// Aborts an upload of the run. One that is not there any more counts as aborted.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn abort(&mut self, unfinished: &Unfinished) -> Result<(), BucketError> {
        let mut key = Vec::new();
        push_key(&self.session.run_prefix, unfinished.id, unfinished.size_bytes, &mut key);
        let key = String::from_utf8_lossy(&key).into_owned();
        match &unfinished.upload_id {
            Some(upload_id) => self.abort_upload(&key, upload_id),
            // The answer that would have named it did not come: whatever is under way for this key is it.
            None => self.abort_below(&key).map(|_| ()),
        }
    }

    /// Aborts every upload below the run's own prefix; returns how many remain.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn sweep_uploads(&mut self) -> Result<usize, BucketError> {
        let prefix = self.session.run_prefix.clone();
        self.abort_below(&prefix)
    }

    fn abort_below(&mut self, prefix: &str) -> Result<usize, BucketError> {
        for _ in 0..PAGES_MAX {
            let mut uploads = self.list_uploads(prefix)?;
            // A listing that ignored its prefix must not lead to the loss of somebody else's upload.
            uploads.retain(|(key, _)| key.starts_with(prefix));
            if uploads.is_empty() {
                return Ok(0);
            }
            for (key, upload_id) in &uploads {
                self.abort_upload(key, upload_id)?;
            }
        }
        Ok(self.list_uploads(prefix)?.len())
    }

    fn abort_upload(&mut self, key: &str, upload_id: &str) -> Result<(), BucketError> {
        let mut query = b"uploadId=".to_vec();
        push_encoded_query(upload_id, &mut query);
        let answer = self.call_at(key, "DELETE", &query, &[], &[])?;
        if answer.status == 404 { Ok(()) } else { answer.ok(&format!("aborting the upload of {key:?}")).map(|_| ()) }
    }

    /// Keys and ids of the first uploads below a prefix. A server that cannot list uploads has none to tell.
    fn list_uploads(&mut self, prefix: &str) -> Result<Vec<(String, String)>, BucketError> {
        let call = format!("listing uploads below {prefix:?}");
        let mut query = format!("max-uploads={UPLOADS_MAX}&prefix=").into_bytes();
        push_encoded_query(prefix, &mut query);
        query.extend_from_slice(b"&uploads=");
        let answer: Answer = self.call("GET", &query, &[], &[])?;
        if matches!(answer.status, 405 | 501) {
            return Ok(Vec::new());
        }
        let answer = answer.ok(&call)?;
        parse_uploads(&answer.body).map_err(|why| BucketError::Answer { call, why })
    }
}

fn parse_uploads(body: &[u8]) -> Result<Vec<(String, String)>, String> {
    let (mut uploads, mut key, mut upload_id) = (Vec::new(), None::<String>, None::<String>);
    each_element(body, |parent, name, text| {
        match (parent, name) {
            (Some("Upload"), "Key") => key = Some(std::mem::take(text)),
            (Some("Upload"), "UploadId") => upload_id = Some(std::mem::take(text)),
            (_, "Upload") => {
                uploads.push(key.take().zip(upload_id.take()).ok_or("an upload without a key or an id")?);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(uploads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_keys_and_ids() {
        let body = b"<ListMultipartUploadsResult><Bucket>b</Bucket><KeyMarker></KeyMarker>
            <Upload><Key>a &amp; b</Key><UploadId>1+/=</UploadId><Initiator><ID>x</ID></Initiator></Upload>
            <Upload><UploadId>2</UploadId><Key>c</Key></Upload></ListMultipartUploadsResult>";
        let told = [("a & b".to_owned(), "1+/=".to_owned()), ("c".to_owned(), "2".to_owned())];
        assert_eq!(parse_uploads(body).unwrap(), told);
        for body in
            ["<Upload><Key>a</Key></Upload>", "<Upload></Upload>", "<a><b></a>", "<Upload><Key>&z;</Key></Upload>"]
        {
            assert!(parse_uploads(body.as_bytes()).is_err(), "{body}");
        }
    }
}
