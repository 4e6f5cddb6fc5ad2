//! What does not go with endpoints that speak HTTP/2.

use crate::Mistake;
use crate::model::cluster::Cluster;
use crate::raw::section::Section;
use crate::raw::walk::Walk;

/// Refuses what would speak something else to them.
pub(super) fn check(walk: &mut Walk<'_>, section: &Section<'_>, cluster: &Cluster) {
    if !cluster.http2 {
        return;
    }
    let path = &section.path;
    if let Some(entry) = section.get("proxy_protocol")
        && cluster.proxy_protocol.is_some()
    {
        let message = format!("{path}.proxy_protocol does not go with protocol = \"http2\"");
        let help = "a connection of HTTP/2 carries requests of many clients; they stand in x-forwarded-for";
        walk.error(entry.span, Mistake::new(message, help));
    }
}
