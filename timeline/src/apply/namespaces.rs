//! Owners are of the same namespace. Whoever may write in one namespace can name the UID of what is in another as an owner;
//! Kubernetes ignores that and removes the object a moment later, and so it must not be seen there meanwhile.

use super::Timeline;
use crate::Uid;
use crate::model::fact::Meta;

impl Timeline {
    /// Takes no owner from another namespace.
    pub(super) fn keep_to_namespace(&self, meta: &mut Meta) {
        let is_here = |owner: &Uid| self.namespace_of(*owner).is_none_or(|namespace| namespace == meta.namespace);
        meta.controller = meta.controller.filter(is_here);
    }

    /// The namespace of an object that is known.
    pub(super) fn namespace_of(&self, uid: Uid) -> Option<&str> {
        let deployment = self.model.deployments.get(&uid).map(|known| known.namespace.as_str());
        let set = || self.model.replica_sets.get(&uid).map(|known| known.namespace.as_str());
        let pod = || self.model.pods.get(&uid).map(|known| known.namespace.as_str());
        deployment.or_else(set).or_else(pod)
    }

    /// An owner becomes known: what named it from another namespace before is forgotten. It is known again, as nobody's, with its
    /// next word.
    pub(super) fn forget_strangers(&mut self, owner: Uid, namespace: &str) {
        let sets = self.model.sets_of(owner).filter(|set| set.namespace != namespace).map(|set| set.uid);
        let sets: Vec<Uid> = sets.collect();
        let named = self.model.pods_of(owner).filter(|pod| pod.namespace != namespace);
        let pods = sets.iter().flat_map(|set| self.model.pods_of(*set)).chain(named).map(|pod| pod.uid).collect();
        self.forget(pods, sets);
    }
}
