//! The namespace controller: a namespace that is being deleted ends when all its objects are gone.

use crate::agenda::Task;
use crate::object::{Key, Resource};
use crate::world::World;

/// Deletes the remaining objects of a namespace that is being deleted, then the namespace.
pub fn empty(world: &mut World, name: &str) {
    let mut is_empty = true;
    for resource in Resource::ALL.into_iter().filter(|resource| resource.is_namespaced()) {
        let keys: Vec<Key> = world.store.list(resource, Some(name), None).map(|stored| stored.object.key()).collect();
        for key in keys {
            world.delete_if_there(resource, &key);
            is_empty &= world.store.get(resource, &key).is_none();
        }
    }
    if is_empty {
        world.remove(Resource::Namespace, &Key::new("", name));
    } else {
        world.schedule_between(300, 700, Task::Namespace(name.to_owned()));
    }
}
