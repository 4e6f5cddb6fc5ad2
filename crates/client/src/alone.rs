//! What a call goes on with that outlives its cluster.

use std::sync::Arc;

use evenkeel_core::{NoEndpoint, Picker};

use crate::local::{self, Chooses, Chosen, Entrance, Wanted};
use crate::view::{LocalView, Version};

/// The last version of a cluster that has ended, with one picker for all further tries of a call. What threads keep is
/// not for it: nobody would take that out again.
///
/// It counts where the call counted that it belongs to. Should two threads do so at once a count may be lost, of
/// figures that nobody can ask for any more.
pub(crate) struct Alone<S> {
    picker: Picker,
    held: Arc<LocalView>,
    version: Arc<Version<S>>,
}

impl<S: Clone + Send + 'static> Alone<S> {
    pub(crate) fn new(call: &LocalView) -> Self {
        let version = Entrance::<S>::published(call).load();
        Self {
            picker: Picker::new(call.view.shared.picker_seed()),
            held: Arc::new(call.renewed(&version)),
            version,
        }
    }
}

impl<S: Clone + Send + 'static> Chooses<S> for Alone<S> {
    fn choose(&mut self, wanted: Wanted<'_>) -> Result<Chosen<S>, NoEndpoint> {
        let lease = local::pick(&mut self.picker, &self.held, wanted)?;
        let service = self.version.service(lease.index());
        Ok(Chosen { lease, service })
    }

    fn view(&self) -> Arc<LocalView> {
        Arc::clone(&self.held)
    }
}
