//! What differs in how runs were set up.

use super::*;

/// A run that was imported, with these flags of warp; without any where the file does not have its command line.
fn imported(flags: Option<&[(&str, &str)]>) -> Records {
    let mut run = records(&[1, 2], |_| 5);
    run.manifest.requested.threads = 0;
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    run.manifest.requested.warp_flags = flags.map(|flags| flags.iter().map(owned).collect());
    run
}

#[test]
fn flags_of_warp_that_change_a_load_differ_or_are_not_known() {
    let differ = |a: &Records, b: &Records| -> Vec<String> {
        let said = |d: SetupDifference| format!("{} {}, {}", d.field, d.a.join("|"), d.b.join("|"));
        thrice(a, b).setup.into_iter().map(said).collect()
    };
    let (plain, versions, unknown) = (imported(Some(&[])), imported(Some(&[("versions", "5")])), imported(None));
    assert_eq!(differ(&versions, &versions), [""; 0]);
    assert_eq!(differ(&unknown, &unknown), [""; 0]);
    assert_eq!(differ(&plain, &versions), ["asked.warp_flags.versions –, 5"]);
    assert_eq!(differ(&plain, &unknown), ["asked.warp_flags recorded, not recorded"]);
    let both = ["asked.warp_flags recorded, not recorded", "asked.warp_flags.versions 5, not recorded"];
    assert_eq!(differ(&versions, &unknown), both);
}

#[test]
fn what_differs_in_the_set_up_is_told_by_field() {
    let a = records(&[1, 2], |_| 5);
    let mut b = a.clone();
    assert_eq!(thrice(&a, &b).setup, []);
    b.manifest.requested.prefix = "another run's own".into();
    b.manifest.target.server = Some("MinIO".into());
    b.manifest.requested.verify = true;
    b.manifest.clients[0].machine.cpus = 64;
    b.manifest.linerate_version = "0.2.0".into();
    let reported: Vec<_> = thrice(&a, &b).setup.into_iter().map(|d| (d.field, d.a.join("|"), d.b.join("|"))).collect();
    let expected = [
        ("asked.verify", "false", "true"),
        ("linerate_version", "0.0.0", "0.2.0"),
        ("machine.cpus", "2", "64"),
        ("target.server", "–", "MinIO"),
    ];
    assert_eq!(reported, expected.map(|(field, a, b)| (field.to_owned(), a.to_owned(), b.to_owned())));
}
