//! Quantiles of which only a lower bound is known: requests had not ended.

use linerate_analysis::view::ClientFigures;
use linerate_record::run::Client;
use linerate_report::html;
use linerate_report::terminal::{TextStyle, render};

use crate::fixture;

const PLAIN: TextStyle = TextStyle { color: false, width: 120, whole: false };

#[test]
fn a_quantile_beyond_requests_that_had_not_ended_is_at_least_their_age_wherever_it_is_shown() {
    let mut view = fixture::usual();
    let named = |name: &str| Client { name: name.to_owned(), ..Client::local(view.run.machine.clone(), 4) };
    view.run.clients = vec![named("rack1"), named("rack2")];
    let point = &mut view.series[0].points[0];
    (point.total.p99_ns, point.total.at_least_ns) = (6_100_000_000, Some(6_100_000_000));
    (point.ttfb.p99_ns, point.ttfb.at_least_ns) = (6_200_000_000, Some(6_200_000_000));
    let host = &mut point.hosts[0];
    (host.total_p99_ns, host.total_at_least_ns) = (6_300_000_000, Some(6_300_000_000));
    (host.ttfb_p50_ns, host.ttfb_at_least_ns) = (6_400_000_000, Some(6_400_000_000));
    let client = ClientFigures {
        client: "rack1".to_owned(),
        requests: 1,
        total_p99_ns: 6_500_000_000,
        total_at_least_ns: Some(6_500_000_000),
        ..ClientFigures::default()
    };
    point.clients = vec![client.clone(), ClientFigures { client: "rack2".to_owned(), ..client }];
    let number = point.point;
    view.series[0].summary.best.iter_mut().for_each(|best| best.point = number);
    let (text, page) = (render(&view, true, PLAIN), html(&view));
    for shown in ["≥6.10 s", "≥6.50 s"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    for shown in ["≥6.10 s", "≥6.20 s", "≥6.30 s", "≥6.40 s", "≥6.50 s"] {
        assert!(page.contains(shown), "{shown}");
    }
}
