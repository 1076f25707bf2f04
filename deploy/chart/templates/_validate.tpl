{{/* Refuses values that do not fit together. Each sentence begins with the value to change. */}}
{{- define "rollcast.validate" -}}
{{- $auth := .Values.auth -}}
{{- $history := .Values.history -}}
{{- $isShared := and $history.enabled (eq $history.storage "postgres") -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is empty: name your image of Rollcast; docs/install.md says how to build one" -}}
{{- end -}}
{{- if and .Values.clusterWide .Values.namespaces -}}
{{- fail "namespaces is set, but clusterWide is true: set clusterWide to false to watch these namespaces only, or remove namespaces" -}}
{{- end -}}
{{- if and (not .Values.clusterWide) (not .Values.namespaces) -}}
{{- fail "namespaces is empty: with clusterWide false, name the namespaces to watch" -}}
{{- end -}}
{{- if and (eq $auth.mode "none") (not $auth.insecureNoAuth) -}}
{{- fail "auth.mode none lets everyone who can connect see everything: choose token, oidc or proxy, or confirm with auth.insecureNoAuth true" -}}
{{- end -}}
{{- if and (ne $auth.mode "none") $auth.insecureNoAuth -}}
{{- fail (printf "auth.insecureNoAuth is true, but auth.mode is %s: set auth.mode to none, or remove auth.insecureNoAuth" $auth.mode) -}}
{{- end -}}
{{- if and (eq $auth.mode "proxy") (not $auth.proxy.from) -}}
{{- fail "auth.proxy.from is empty: with auth.mode proxy, name the addresses of the proxy, for example [10.0.0.7]" -}}
{{- end -}}
{{- if and (eq $auth.mode "oidc") (not $auth.oidc.issuer) -}}
{{- fail "auth.oidc.issuer is empty: with auth.mode oidc, name the address of the provider, for example https://id.example.com" -}}
{{- end -}}
{{- if and (eq $auth.mode "oidc") (not $auth.oidc.clientId) -}}
{{- fail "auth.oidc.clientId is empty: with auth.mode oidc, name the client that the provider knows" -}}
{{- end -}}
{{- if and (eq $auth.mode "oidc") (not .Values.publicUrl) -}}
{{- fail "publicUrl is empty: with auth.mode oidc, the provider sends people back to this address" -}}
{{- end -}}
{{- if and $isShared (not $history.existingSecret) -}}
{{- fail "history.existingSecret is empty: with history.storage postgres, name the Secret that has the address of the database" -}}
{{- end -}}
{{- if and $history.persistence.enabled (or (not $history.enabled) $isShared) -}}
{{- fail "history.persistence.enabled has an effect with history.storage sqlite only: remove it, or store the history in SQLite" -}}
{{- end -}}
{{- if gt (int .Values.replicaCount) 1 -}}
{{- if and $history.enabled (not $isShared) -}}
{{- fail (printf "replicaCount is %d, but history.storage is sqlite, a file of one pod: set history.storage to postgres, or replicaCount to 1" (int .Values.replicaCount)) -}}
{{- end -}}
{{- if and (ne $auth.mode "none") (not $isShared) -}}
{{- fail (printf "replicaCount is %d, but without history each pod has links of its own: set history.enabled to true and history.storage to postgres, or replicaCount to 1" (int .Values.replicaCount)) -}}
{{- end -}}
{{- if and (ne $auth.mode "none") (not .Values.sessionKeys.existingSecret) -}}
{{- fail (printf "sessionKeys.existingSecret is empty, but replicaCount is %d: each pod would end the sessions of the others. Name a Secret with session keys, or set replicaCount to 1" (int .Values.replicaCount)) -}}
{{- end -}}
{{- end -}}
{{- range $kind := list "ingress" "httpRoute" -}}
{{- if and (index $.Values $kind).enabled (not $.Values.publicUrl) -}}
{{- fail (printf "publicUrl is empty: with %s.enabled, name the address that people use, for example https://rollouts.example.com" $kind) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the Gateway, for example [{ name: public, namespace: gateways }]" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.from) -}}
{{- fail "networkPolicy.from is empty, so nobody could connect: name the peers that may connect, such as the namespace of the ingress controller" -}}
{{- end -}}
{{- if .Values.serviceMonitor.enabled -}}
{{- if eq $auth.mode "proxy" -}}
{{- fail "serviceMonitor.enabled does not work with auth.mode proxy, because only the proxy can sign Prometheus in: scrape /metrics through the proxy" -}}
{{- end -}}
{{- if and (ne $auth.mode "none") (not .Values.serviceMonitor.tokenSecret) -}}
{{- fail (printf "serviceMonitor.tokenSecret is empty: with auth.mode %s, name a Secret with a token that may list pods in all namespaces" $auth.mode) -}}
{{- end -}}
{{- end -}}
{{- $known := dict -}}
{{- range include "rollcast.env" . | fromYamlArray -}}
{{- $_ := set $known .name true -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if hasKey $known .name -}}
{{- fail (printf "extraEnv sets %s, which the chart sets already: use the value of the chart instead" .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
