//! The kinds of the cluster: one enum over the types of `k8s-openapi`, and the properties of each kind. Contains no behavior.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Node, Pod, ResourceQuota};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Serialize;
use serde_json::Value;

use crate::ApiError;

/// Namespace and name of an object; the namespace is empty for Nodes and Namespaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl Key {
    /// Creates a key.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the key of an object.
    pub fn of(meta: &ObjectMeta) -> Self {
        Self { namespace: meta.namespace.clone().unwrap_or_default(), name: meta.name.clone().unwrap_or_default() }
    }
}

/// A type of `k8s-openapi` that the cluster holds.
pub trait Kind: Clone + PartialEq {
    /// The type's kind.
    const RESOURCE: Resource;
    /// Returns a reference to the object as this type; `None` if it is of another kind.
    fn of(object: &Object) -> Option<&Self>;
    /// Returns a mutable reference to the object as this type.
    fn of_mut(object: &mut Object) -> Option<&mut Self>;
    /// Wraps the object into an [`Object`].
    fn into_object(self) -> Object;
}

macro_rules! kinds {
    ($($kind:ident $plural:literal [$($short:literal)*] $group:literal,)*) => {
        /// A kind of the cluster, in the order of declaration.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Resource {
            $(#[doc = concat!("`", $plural, "`.")] $kind,)*
        }

        impl Resource {
            /// Every kind.
            pub const ALL: [Self; [$($plural),*].len()] = [$(Self::$kind),*];

            /// Returns the plural name in API paths: "deployments".
            pub const fn plural(self) -> &'static str {
                match self { $(Self::$kind => $plural,)* }
            }

            /// Returns the value of `kind`: "Deployment".
            pub const fn kind(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }

            /// Returns kubectl's short name.
            pub const fn short(self) -> &'static [&'static str] {
                match self { $(Self::$kind => &[$($short),*],)* }
            }

            /// Returns the API group; empty for the core group.
            pub const fn group(self) -> &'static str {
                match self { $(Self::$kind => $group,)* }
            }
        }

        /// An object of the cluster.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Object {
            $(#[doc = concat!("A ", stringify!($kind), ".")] $kind(Box<$kind>),)*
        }

        impl Object {
            /// Returns the kind of the object.
            pub const fn resource(&self) -> Resource {
                match self { $(Self::$kind(_) => Resource::$kind,)* }
            }

            /// Returns the metadata.
            pub fn meta(&self) -> &ObjectMeta {
                match self { $(Self::$kind(object) => &object.metadata,)* }
            }

            /// Returns the metadata for changes.
            pub fn meta_mut(&mut self) -> &mut ObjectMeta {
                match self { $(Self::$kind(object) => &mut object.metadata,)* }
            }

            /// Decodes an object from JSON; `kind` and `apiVersion`, if present, must match this kind.
            ///
            /// # Errors
            /// 400 with the first field that does not fit.
            pub fn read(resource: Resource, value: Value) -> Result<Self, ApiError> {
                if let Some(kind) = value.get("kind").and_then(Value::as_str).filter(|kind| *kind != resource.kind()) {
                    return Err(ApiError::bad_request(format!("{kind} cannot be stored as {}", resource.plural())));
                }
                match resource {
                    $(Resource::$kind => serde_json::from_value(value)
                        .map(|object| Self::$kind(Box::new(object)))
                        .map_err(|error| ApiError::bad_request(format!("{} cannot be decoded: {error}", resource.kind()))),)*
                }
            }
        }

        impl Serialize for Object {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$kind(object) => object.serialize(serializer),)* }
            }
        }

        $(impl Kind for $kind {
            const RESOURCE: Resource = Resource::$kind;

            fn of(object: &Object) -> Option<&Self> {
                match object { Object::$kind(object) => Some(object), _ => None }
            }

            fn of_mut(object: &mut Object) -> Option<&mut Self> {
                match object { Object::$kind(object) => Some(object), _ => None }
            }

            fn into_object(self) -> Object {
                Object::$kind(Box::new(self))
            }
        })*
    };
}

kinds! {
    ConfigMap "configmaps" ["cm"] "",
    Deployment "deployments" ["deploy"] "apps",
    EndpointSlice "endpointslices" [] "discovery.k8s.io",
    Event "events" ["ev"] "",
    Namespace "namespaces" ["ns"] "",
    Node "nodes" ["no"] "",
    Pod "pods" ["po"] "",
    ReplicaSet "replicasets" ["rs"] "apps",
    ResourceQuota "resourcequotas" ["quota"] "",
}

impl Resource {
    /// Returns whether objects of this kind are namespaced.
    pub const fn is_namespaced(self) -> bool {
        !matches!(self, Self::Namespace | Self::Node)
    }

    /// Returns the `apiVersion` of its objects: every group has a v1, and no other version here.
    pub fn api_version(self) -> String {
        match self.group() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        }
    }

    /// Returns the kind or object as errors name it: `deployments.apps`.
    pub(crate) fn qualified(self, name: &str) -> String {
        match self.group() {
            "" => name.to_owned(),
            group => format!("{name}.{group}"),
        }
    }
}

impl Object {
    /// Returns the key of the object.
    pub fn key(&self) -> Key {
        Key::of(self.meta())
    }

    /// Returns the UID; empty before the object is stored.
    pub fn uid(&self) -> &str {
        self.meta().uid.as_deref().unwrap_or_default()
    }

    /// Returns the selector of a Deployment or ReplicaSet.
    pub(crate) fn selector(&self) -> Option<&LabelSelector> {
        match self {
            Self::Deployment(deployment) => Some(&deployment.spec.as_ref()?.selector),
            Self::ReplicaSet(set) => Some(&set.spec.as_ref()?.selector),
            _ => None,
        }
    }

    /// Returns the object as JSON.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
