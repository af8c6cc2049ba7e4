//! What objects of a size cost on each pool, and on average over pools.

use linerate_record::site::Site;

use super::{FailureLoad, placement};
use crate::layout::Geometries;
use crate::layout::objects::{Footprint, footprint, shards_read};

/// What reads or writes of objects of a size cost, per client byte.
pub(super) struct Costs<'a> {
    /// Of the same pools, with the pool of each group.
    geometries: &'a Geometries,
    pools: Vec<PoolCost>,
    /// From clients, and to them: the same whichever pool an object is on.
    pub(super) request_bytes: f64,
    pub(super) response_bytes: f64,
    /// Among nodes, where no shard lies on the node that serves: over all pools, by the objects that each takes.
    pub(super) moved_bytes: f64,
    /// Shards' bytes that are written, shards that are checked as they are read, and parity that is computed.
    pub(super) stored: f64,
    pub(super) checked: f64,
    pub(super) parity: f64,
}

/// The same of the objects of one pool.
#[derive(Clone, Copy)]
pub(super) struct PoolCost {
    /// Share of the site's objects, by bytes.
    pub(super) share: f64,
    pub(super) data: f64,
    pub(super) shards: f64,
    pub(super) parity: f64,
    pub(super) foot: Footprint,
    /// Among nodes, of the shards that go out together.
    sent_bytes: f64,
}

impl<'a> Costs<'a> {
    /// `object_bytes` and data shards are not 0.
    pub(super) fn new(
        site: &Site,
        geometries: &'a Geometries,
        object_bytes: u64,
        reads: bool,
        strain: FailureLoad,
    ) -> Self {
        let mut shares = vec![0.0; geometries.pools().len()];
        for (place, (group, holds)) in site.groups.iter().zip(placement(site)).enumerate() {
            shares[geometries.pool_of(place)] += f64::from(group.count) * holds;
        }
        let mut costs = Costs {
            geometries,
            pools: Vec::with_capacity(shares.len()),
            request_bytes: 0.0,
            response_bytes: 0.0,
            moved_bytes: 0.0,
            stored: 0.0,
            checked: 0.0,
            parity: 0.0,
        };
        for (pool, (geometry, &share)) in geometries.pools().iter().zip(&shares).enumerate() {
            let mut foot = footprint(&site.engine, geometry, object_bytes, reads);
            let is_hit = !reads && strain.hits(pool);
            if is_hit {
                foot.moved_bytes *= strain.written;
                foot.drive_write_bytes *= strain.written;
                foot.drive_write_ops *= strain.written;
            }
            let sent_bytes = foot.moved_bytes * if is_hit { strain.sent } else { 1.0 };
            let [shards, data, parity] = [geometry.shards, geometry.data, geometry.parity].map(f64::from);
            costs.request_bytes = foot.request_bytes;
            costs.response_bytes = foot.response_bytes;
            costs.moved_bytes += share * sent_bytes;
            costs.stored += share * shards / data;
            costs.checked += share * shards_read(&site.engine, geometry, foot.inline) / data;
            costs.parity += share * parity;
            costs.pools.push(PoolCost { share, data, shards, parity, foot, sent_bytes });
        }
        costs
    }

    /// Of the objects on a group's pool.
    pub(super) fn of_group(&self, group: usize) -> &PoolCost {
        &self.pools[self.pool_of(group)]
    }

    pub(super) fn pool_of(&self, group: usize) -> usize {
        self.geometries.pool_of(group)
    }

    /// Share of the site's objects that a pool has, by bytes.
    pub(super) fn share_of(&self, pool: usize) -> f64 {
        self.pools.get(pool).map_or(0.0, |pool| pool.share)
    }

    /// Bytes among nodes of the objects on a group's pool, per client byte of the site.
    pub(super) fn moved_of_pool(&self, group: usize) -> f64 {
        let pool = self.of_group(group);
        pool.share * pool.sent_bytes
    }
}
