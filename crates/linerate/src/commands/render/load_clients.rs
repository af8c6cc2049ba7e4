//! Clients in the cluster: the Job and the fleet file that `linerate fleet up` would make, as files.

use linerate_record::site::{Site, key};
use linerate_render::RenderedFile;
use linerate_site::SiteFile;

use crate::terminal::failure::Failure;

/// The files, where the site describes clients. They are in no kustomization: a load is started by somebody.
#[cfg(feature = "kube")]
pub(super) fn files(site: &Site, file: &SiteFile, replaced: &[(String, String)]) -> Result<Vec<RenderedFile>, Failure> {
    use linerate_kube::manifest::{fleet, render};

    let Some(wishes) = fleet_wishes(site, replaced) else { return Ok(Vec::new()) };
    wishes
        .checked()
        .map_err(|error| Failure::usage(file.mistake(key::KUBERNETES_LOAD, error.to_string(), error.fix)))?;
    let head = format!(
        "# Clients of the site {}. Nothing applies them of itself: kubectl apply --filename load/clients.yaml starts \n\
         # them, and linerate bench --fleet load/fleet.yaml loads the engine from them. They end after {} minutes.\n\
         # Made by linerate render. Change the site and render again: a changed file is not overwritten.\n",
        site.name,
        wishes.deadline_s / 60
    )
    .replace(" \n", "\n");
    let rendered_file =
        |name: &str, text: &str| RenderedFile { path: format!("load/{name}.yaml"), text: format!("{head}{text}") };
    Ok(vec![rendered_file("clients", &render(&wishes)), rendered_file("fleet", &fleet(&wishes, None, &[]))])
}

/// Without the room that reaches pods, there is nobody to reach them.
#[cfg(not(feature = "kube"))]
pub(super) fn files(
    site: &Site,
    file: &SiteFile,
    _replaced: &[(String, String)],
) -> Result<Vec<RenderedFile>, Failure> {
    match site.kubernetes.as_ref().and_then(|kubernetes| kubernetes.load.as_ref()) {
        None => Ok(Vec::new()),
        Some(_) => {
            let advice = "leave it out, or use a linerate with the feature kube";
            Err(Failure::usage(file.mistake(key::KUBERNETES_LOAD, "this linerate reaches no pods", advice)))
        }
    }
}

/// What `fleet up` would be told, with its defaults where the site says nothing.
#[cfg(feature = "kube")]
fn fleet_wishes(site: &Site, replaced: &[(String, String)]) -> Option<linerate_kube::manifest::ClientManifest> {
    use linerate_kube::manifest::{CLIENTS_MAX, ClientManifest};
    use linerate_record::fleet::Allowed;

    let kubernetes = site.kubernetes.as_ref()?;
    let load = kubernetes.load.as_ref()?;
    let described = if site.askers() > 0 { site.askers() } else { site.nodes() };
    // Clients on the nodes are what the site describes then, and not in the way.
    let monitoring = kubernetes.observation.as_ref().map_or("", |monitoring| monitoring.namespace.as_str());
    let argocd = kubernetes.git.as_ref().map_or("", |git| git.namespace.as_str());
    let reserved_namespaces = [kubernetes.namespace.as_str(), monitoring, argocd];
    let is_alongside = !site.has_clients_on_nodes();
    // A machine that is being replaced may hold data still.
    let names = kubernetes.hosts.iter().flat_map(|hosts| &hosts.names).chain(replaced.iter().map(|(_, new)| new));
    Some(ClientManifest {
        instance: linerate_render::dns_label(&site.name, INSTANCE_BYTES_MAX),
        namespace: load.namespace.clone(),
        // Those of others are there, and not theirs.
        makes_namespaces: !reserved_namespaces.contains(&load.namespace.as_str()),
        image: load.image.clone(),
        clients: load.clients.unwrap_or(described).clamp(1, CLIENTS_MAX),
        allow: Allowed::Load.name().to_owned(),
        cpu: "2".to_owned(),
        memory: "1Gi".to_owned(),
        deadline_s: 3600,
        lease_s: 30,
        storage_label: None,
        storage_hosts: names.filter(|_| is_alongside).cloned().collect(),
        storage_until: None,
        host_clients: 0,
        service_port: None,
        changes: false,
    })
}

/// Longest name of a fleet.
#[cfg(feature = "kube")]
const INSTANCE_BYTES_MAX: usize = 32;

#[cfg(all(test, feature = "kube"))]
mod tests {
    use linerate_fleet::node_reach::NodeReach;
    use linerate_kube::client_fleet::documents;

    use super::*;

    fn files_of(more: &str) -> Result<Vec<RenderedFile>, String> {
        let text = format!(
            "name: Big.site\nnodes: {{count: 2, drives: {{count: 1, capacity: 1TB}}, nics: {{speed: \
             25Gb/s}}}}\nengine: minio\nkubernetes:\n  hosts: {{names: 'n{{1...2}}', mounts: /d}}\n{more}\n"
        );
        let file = SiteFile::new("site.yaml", text.as_str());
        let site = linerate_site::read(&text, "site.yaml").map_err(|error| error.to_string())?;
        files(&site, &file, &[("n2".to_owned(), "n9".to_owned())]).map_err(|failure| failure.to_string())
    }

    #[test]
    fn clients_are_those_that_their_fleet_file_reaches_and_are_on_no_storage_node() {
        assert_eq!(files_of(""), Ok(Vec::new()));
        for (more, clients, away) in [
            ("  load: {image: 'linerate:1'}", 2, true),
            ("  load: {image: 'linerate:1', clients: 5, namespace: clients}", 5, true),
            ("  load: {image: 'linerate:1', namespace: minio}", 2, true),
            ("  load: {image: 'linerate:1'}\nclients: {count: 7, speed: 25Gb/s}", 7, true),
            ("  load: {image: 'linerate:1'}\nclients: {count: 4000, speed: 25Gb/s}", 1000, true),
            ("  load: {image: 'linerate:1'}\nclients: {on: nodes}", 2, false),
        ] {
            let files = files_of(more).unwrap();
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(paths, ["load/clients.yaml", "load/fleet.yaml"]);
            let all = documents(&files[0].text).unwrap();
            let job = all.iter().find(|one| one["kind"] == "Job").unwrap();
            assert_eq!((&job["spec"]["completions"], &job["spec"]["parallelism"]), (&clients.into(), &clients.into()));
            assert_eq!(files[0].text.contains(r#"operator: NotIn, values: ["n1", "n2", "n9"]"#), away, "{more}");
            let makes = all.iter().any(|one| one["kind"] == "Namespace");
            assert_eq!(makes, !more.contains("namespace: minio"), "{more}");
            let nodes = linerate_fleet::description::read(&files[1].text, "fleet.yaml").unwrap();
            assert_eq!(nodes.len(), clients as usize, "{more}");
            let label = &job["metadata"]["labels"]["app.kubernetes.io/instance"];
            for node in nodes {
                let NodeReach::Kube(place) = &node.reach else { panic!("{:?}", node.reach) };
                assert_eq!(job["metadata"]["namespace"], place.namespace.as_str());
                assert!(format!("{place:?}").contains(label.as_str().unwrap()), "{place:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_told_at_its_key() {
        let name = "a".repeat(60);
        let reported = files_of(&format!("  load: {{image: 'linerate:1', namespace: {name}}}")).unwrap_err();
        assert!(reported.contains("(kubernetes.load)") && reported.contains("invalid namespace"), "{reported}");
    }
}
