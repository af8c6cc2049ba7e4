//! Why a change of an arm reaches nobody.

use linerate_record::knob::SettingId;

/// What is said of a setting that is in the network namespace of neither the client nor the server, which is told by
/// its process and program where it was found on this machine.
#[must_use]
pub fn reaches_neither(place: &SettingId, server: Option<(u32, &str)>) -> String {
    let server = server.map_or_else(
        || "no server was found on this machine".to_owned(),
        |(pid, program)| format!("the server's is another: give --pid {pid} ({program})"),
    );
    format!(
        "{place} reaches neither the client's network namespace nor the server's, and each has its own, whatever the \
         host's are; {server}"
    )
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::Space;

    use super::*;

    #[test]
    fn a_setting_of_another_namespace_names_the_server_to_give() {
        let space = Space::Netns("lab".to_owned());
        let place = SettingId { knob: "net.ipv4.tcp_rmem".to_owned(), device: None, space };
        let found = reaches_neither(&place, Some((4711, "minio")));
        assert!(found.starts_with("net.ipv4.tcp_rmem in network namespace lab reaches neither"), "{found}");
        assert!(found.ends_with("the server's is another: give --pid 4711 (minio)"), "{found}");
        assert!(reaches_neither(&place, None).ends_with("no server was found on this machine"));
    }
}
