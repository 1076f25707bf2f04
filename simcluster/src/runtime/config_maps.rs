//! The ConfigMaps that a pod needs before it can start.

use k8s_openapi::api::core::v1::{Container, PodSpec};

/// Returns the volumes of a pod that are ConfigMaps: volume and ConfigMap names.
pub(crate) fn of_volumes(spec: &PodSpec) -> impl Iterator<Item = (&str, &str)> {
    spec.volumes.iter().flatten().filter_map(|volume| {
        let source = volume.config_map.as_ref().filter(|source| source.optional != Some(true))?;
        Some((volume.name.as_str(), source.name.as_str()))
    })
}

/// Returns the ConfigMaps from which a container's environment is read.
pub(crate) fn of_container(container: &Container) -> impl Iterator<Item = &str> {
    let all = container.env_from.iter().flatten().filter_map(|from| {
        let source = from.config_map_ref.as_ref().filter(|source| source.optional != Some(true))?;
        Some(source.name.as_str())
    });
    let single = container.env.iter().flatten().filter_map(|variable| {
        let source = variable.value_from.as_ref()?.config_map_key_ref.as_ref()?;
        (source.optional != Some(true)).then_some(source.name.as_str())
    });
    all.chain(single)
}
