//! Survivors that no figure tells apart, together; and how far figures of single nodes reach.

use linerate_record::explanation::{Hypothesis, Kind, NodeFigures, Observations, Quantity};

/// Survivors that predict the same of everything that was observed: the weightiest first, which stands for the others.
pub(super) fn kinds(survivors: &[Hypothesis]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (place, hypothesis) in survivors.iter().enumerate() {
        let alike = |kind: &&mut Kind| {
            let first = &survivors[kind.survivors[0]];
            first.indistinguishable.contains(&hypothesis.id) || hypothesis.indistinguishable.contains(&first.id)
        };
        match kinds.iter_mut().find(alike) {
            Some(kind) => {
                kind.survivors.push(place);
                kind.weight += hypothesis.weight;
            }
            None => kinds.push(Kind { survivors: vec![place], weight: hypothesis.weight }),
        }
    }
    kinds
}

/// How many figures of single nodes there are, with the least and the most of them.
pub(super) fn of_nodes(observations: &Observations) -> Option<NodeFigures> {
    let is_of_node = |what: &Quantity| matches!(what, Quantity::NodeGet { .. } | Quantity::NodePut { .. });
    let of_nodes = observations.figures.iter().filter(|figure| is_of_node(&figure.what));
    let rates: Vec<f64> = of_nodes.map(|figure| figure.bytes_per_s).collect();
    let least_bytes_per_s = rates.iter().copied().reduce(f64::min)?;
    let most_bytes_per_s = rates.iter().copied().reduce(f64::max)?;
    Some(NodeFigures { figures: rates.len() as u64, least_bytes_per_s, most_bytes_per_s })
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Observed, Remedy};

    use super::*;

    fn no_remedy() -> Remedy {
        let (change, gives, risks) = (String::new(), String::new(), String::new());
        Remedy { change, gives, risks, gains: Vec::new(), condition: None, is_known: true }
    }

    #[test]
    fn what_no_figure_tells_apart_is_one_kind_with_the_weight_of_all() {
        let hypothesis = |id: &str, weight: f64, alike: &[&str]| Hypothesis {
            id: id.to_owned(),
            deviations: Vec::new(),
            residuals: Vec::new(),
            weight,
            indistinguishable: alike.iter().map(|&id| id.to_owned()).collect(),
            remedy: no_remedy(),
        };
        let found = kinds(&[hypothesis("a", 0.5, &["c"]), hypothesis("b", 0.2, &[]), hypothesis("c", 0.125, &["a"])]);
        assert_eq!(found, [Kind { survivors: vec![0, 2], weight: 0.625 }, Kind { survivors: vec![1], weight: 0.2 }]);
        assert_eq!(kinds(&[]), []);
    }

    #[test]
    fn figures_of_nodes_have_a_least_and_a_most_and_those_of_the_site_are_none() {
        let observed = |what, bytes_per_s| Observed { what, bytes_per_s, error_share: None, in_flight: None };
        let node = |name: &str| Quantity::NodeGet { node: name.to_owned() };
        let mut all =
            Observations { figures: vec![observed(Quantity::Get, 9.0)], error_share: 0.02, nodes_alone: false };
        assert_eq!(of_nodes(&all), None);
        all.figures.extend([
            observed(node("a"), 3.0),
            observed(Quantity::NodePut { node: "a".to_owned() }, 1.0),
            observed(node("b"), 2.0),
        ]);
        assert_eq!(of_nodes(&all), Some(NodeFigures { figures: 3, least_bytes_per_s: 1.0, most_bytes_per_s: 3.0 }));
    }
}
