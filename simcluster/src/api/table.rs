//! Tables for `kubectl get`: the columns of Kubernetes' own printers (`pkg/printers/internalversion`).

mod cells;

use std::sync::Arc;

use serde_json::{Value, json};

use super::target::Target;
use crate::change::Stored;
use crate::object::Resource;

pub fn is_asked_for(accept: &str) -> bool {
    accept.contains("as=Table") && accept.contains("g=meta.k8s.io")
}

/// Returns the columns of a kind, and the columns that only wide output shows.
const fn columns(resource: Resource) -> (&'static [&'static str], &'static [&'static str]) {
    match resource {
        Resource::Deployment => {
            (&["Name", "Ready", "Up-to-date", "Available", "Age"], &["Containers", "Images", "Selector"])
        }
        Resource::ReplicaSet => {
            (&["Name", "Desired", "Current", "Ready", "Age"], &["Containers", "Images", "Selector"])
        }
        Resource::Pod => {
            (&["Name", "Ready", "Status", "Restarts", "Age"], &["IP", "Node", "Nominated Node", "Readiness Gates"])
        }
        Resource::Event => (
            &["Last Seen", "Type", "Reason", "Object", "Message"],
            &["Subobject", "Source", "First Seen", "Count", "Name"],
        ),
        Resource::Node => (
            &["Name", "Status", "Roles", "Age", "Version"],
            &["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
        ),
        Resource::Namespace => (&["Name", "Status", "Age"], &[]),
        Resource::ResourceQuota => (&["Name", "Request", "Limit", "Age"], &[]),
        Resource::ConfigMap => (&["Name", "Data", "Age"], &[]),
        Resource::EndpointSlice => (&["Name", "AddressType", "Ports", "Endpoints", "Age"], &[]),
    }
}

/// Returns a table of these objects; ages are relative to `now_millis`.
pub fn table(target: &Target, objects: &[Arc<Stored>], now_millis: i64, has_columns: bool) -> Value {
    let (narrow, wide) = columns(target.resource);
    let column = |name: &&str, priority: u8| {
        let is_number = matches!(*name, "Up-to-date" | "Available" | "Desired" | "Current" | "Count")
            || (*name == "Ready" && target.resource == Resource::ReplicaSet);
        json!({
            "name": name, "type": if is_number { "integer" } else { "string" },
            "format": if *name == "Name" { "name" } else { "" }, "description": "", "priority": priority,
        })
    };
    let columns: Vec<Value> =
        narrow.iter().map(|name| column(name, 0)).chain(wide.iter().map(|name| column(name, 1))).collect();
    let rows: Vec<Value> = objects.iter().map(|object| row(target, object, now_millis)).collect();
    let revision = objects.last().map(|object| object.revision.to_string());
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": { "resourceVersion": revision },
        "columnDefinitions": if has_columns { columns.into() } else { Value::Null }, "rows": rows,
    })
}

fn row(target: &Target, stored: &Stored, now_millis: i64) -> Value {
    let object = match target.option("includeObject") {
        Some("None") => Value::Null,
        Some("Object") => stored.object.to_value(),
        _ => {
            json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": stored.object.meta() })
        }
    };
    json!({ "cells": cells::cells(&stored.object, now_millis), "object": object })
}
