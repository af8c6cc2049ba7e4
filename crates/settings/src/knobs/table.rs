//! The catalogue: the tables of all layers, joined.

use super::{KnobRow, block, bond, boot, cni, conntrack, cpu, dns, fs, kernel, kubernetes, limits, net, nic, vm};

/// The tables in the order of their layers.
const TABLES: &[&[KnobRow]] = &[
    vm::ROWS,
    cpu::ROWS,
    kernel::ROWS,
    fs::ROWS,
    block::ROWS,
    net::sockets::ROWS,
    net::tcp_buffers::ROWS,
    net::tcp::ROWS,
    net::ip::ROWS,
    nic::ROWS,
    bond::ROWS,
    conntrack::ROWS,
    boot::ROWS,
    limits::ROWS,
    kubernetes::api_server::ROWS,
    kubernetes::controller_manager::ROWS,
    kubernetes::kubelet::ROWS,
    kubernetes::etcd::ROWS,
    dns::ROWS,
    cni::ROWS,
];

/// Every knob that linerate knows, layer by layer.
pub static KNOBS: &[KnobRow] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
}

const fn joined<const COUNT: usize>() -> [KnobRow; COUNT] {
    let mut rows = [TABLES[0][0]; COUNT];
    let (mut filled, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            rows[filled] = TABLES[table][row];
            filled += 1;
            row += 1;
        }
        table += 1;
    }
    rows
}
