//! Settings of the host that never reach an engine: its network namespace has values of its own.

use linerate_record::audit::Unreached;
use linerate_record::knob::{Scope, Setting, Snapshot, Space, same};
use linerate_record::site::Site;

use crate::change_plan::{Applicability, effect, wanted};
use crate::knobs;
use crate::profiles::Profile;

/// What an engine has that the host has not, in the order of the catalogue.
pub(super) fn unreached(snapshot: &Snapshot, site: &Site, profile: &Profile) -> Vec<Unreached> {
    let mut found = Vec::new();
    for engine in snapshot.engines.iter().filter(|engine| engine.own_network) {
        let own = |setting: &&Setting| setting.place.space == Space::Pid(engine.pid);
        for setting in snapshot.settings.iter().filter(own) {
            let row = knobs::find(&setting.place.knob).filter(|row| row.knob.scope == Scope::NetworkNamespace);
            let (Some(row), Some(engine_value)) = (row, &setting.value) else { continue };
            let of_host = |other: &&Setting| {
                other.place.space == Space::Host
                    && other.place.knob == setting.place.knob
                    && other.place.device == setting.place.device
            };
            let host = snapshot.settings.iter().find(of_host).and_then(|setting| setting.value.as_ref());
            let Some(host) = host.filter(|host| !same(&row.knob.locator, host, engine_value)) else { continue };
            let acts = effect(&row.knob, snapshot, &setting.place) == Applicability::Acts;
            let pick = profile.pick(row.knob.id).filter(|_| acts);
            found.push(Unreached {
                knob: row.knob.id.to_owned(),
                engine: engine.clone(),
                host: host.clone(),
                engine_value: engine_value.clone(),
                wanted: pick.and_then(|pick| Some(wanted(snapshot, site, row, pick, &setting.place)?.value)),
            });
        }
    }
    found
}
