{{/* Refuses values that do not fit together. Each sentence begins with the value to change. */}}
{{- define "rollcast.validate" -}}
{{- $auth := .Values.auth -}}
{{- $history := .Values.history -}}
{{- $isShared := and $history.enabled (eq $history.storage "postgres") -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is empty: name your image of Rollcast; docs/install.md says how to build one" -}}
{{- end -}}
{{- $name := include "rollcast.fullname" . -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]{0,51}[a-z0-9])?$" $name) -}}
{{- fail (printf "fullnameOverride, or the name of the release, names the objects %s: choose at most 53 lower-case letters, digits and -, with a letter first" $name) -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name is empty: with serviceAccount.create false, name the ServiceAccount of the pod" -}}
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
{{- $host := include "rollcast.host" . -}}
{{- if and (hasPrefix "http://" .Values.publicUrl) (has $auth.mode (list "token" "oidc")) (not (has $host (list "localhost" "127.0.0.1" "[::1]"))) -}}
{{- fail (printf "publicUrl begins with http://: with auth.mode %s, it must begin with https://, because browsers send the session's cookie over TLS only" $auth.mode) -}}
{{- end -}}
{{- /* The first segments of timeline/src/address/route.rs. */ -}}
{{- $own := list "wall" "clusters" "deployments" "history" "status" "qr.svg" "api" "sign-in" "sign-out" "shares" "shared" "healthz" "readyz" "metrics" "playground" -}}
{{- $first := regexFind "[^/]+" .Values.basePath -}}
{{- if has $first $own -}}
{{- fail (printf "basePath begins with /%s, which is a page of Rollcast: choose another path" $first) -}}
{{- end -}}
{{- range $kind := list "ingress" "httpRoute" -}}
{{- if and (index $.Values $kind).enabled (not $.Values.publicUrl) -}}
{{- fail (printf "publicUrl is empty: with %s.enabled, name the address that people use, for example https://rollouts.example.com" $kind) -}}
{{- end -}}
{{- if and (index $.Values $kind).enabled (regexMatch "^([0-9.]+|\\[.*)$" $host) -}}
{{- fail (printf "publicUrl has an IP address as its host: with %s.enabled, name a host such as rollouts.example.com" $kind) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the Gateway, for example [{ name: public, namespace: gateways }]" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.from) -}}
{{- fail "networkPolicy.from is empty, so nobody could connect: name the peers that may connect, such as the namespace of the ingress controller" -}}
{{- end -}}
{{- if .Values.serviceMonitor.enabled -}}
{{- if eq $auth.mode "oidc" -}}
{{- fail "serviceMonitor.enabled does not work with auth.mode oidc, because ID tokens expire: scrape /metrics with a job of your own that renews its token" -}}
{{- end -}}
{{- if eq $auth.mode "proxy" -}}
{{- fail "serviceMonitor.enabled does not work with auth.mode proxy, because only the proxy can sign Prometheus in: scrape /metrics through the proxy" -}}
{{- end -}}
{{- if and (eq $auth.mode "token") (not .Values.serviceMonitor.tokenSecret) -}}
{{- fail "serviceMonitor.tokenSecret is empty: with auth.mode token, name a Secret with a token that may list pods in all namespaces" -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := include "rollcast.selectorLabels" . | fromYaml -}}
{{- if hasKey $.Values.podLabels $key -}}
{{- fail (printf "podLabels has %s, which the chart sets: remove it" $key) -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := include "rollcast.ownLabels" . | fromYaml -}}
{{- if hasKey $.Values.commonLabels $key -}}
{{- fail (printf "commonLabels has %s, which the chart sets: remove it" $key) -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := .Values.commonLabels -}}
{{- range $value, $labels := dict
  "podLabels" $.Values.podLabels
  "serviceMonitor.labels" $.Values.serviceMonitor.labels
  "prometheusRule.labels" $.Values.prometheusRule.labels
  "grafanaDashboard.labels" $.Values.grafanaDashboard.labels
-}}
{{- if hasKey $labels $key -}}
{{- fail (printf "%s has %s, which commonLabels sets: remove one of them" $value $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $ports := dict "http" true -}}
{{- range .Values.extraContainers -}}
{{- if eq .name "rollcast" -}}
{{- fail "extraContainers has the name rollcast, which the chart sets: choose another name" -}}
{{- end -}}
{{- range .ports -}}
{{- if .name }}{{ $_ := set $ports .name true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and (kindIs "string" .Values.service.targetPort) (not (hasKey $ports .Values.service.targetPort)) -}}
{{- fail (printf "service.targetPort is %s, but no container of extraContainers has a port of that name" .Values.service.targetPort) -}}
{{- end -}}
{{- if hasKey .Values.podAnnotations "checksum/config" -}}
{{- fail "podAnnotations has checksum/config, which the chart sets: remove it" -}}
{{- end -}}
{{- range .Values.extraArgs -}}
{{- if hasPrefix "--tls-" . -}}
{{- fail (printf "extraArgs has %s, but the probes do not use TLS: TLS ends at the ingress" .) -}}
{{- end -}}
{{- end -}}
{{- if regexMatch `(?m)^\s*tls_(cert|key)\b` .Values.config -}}
{{- fail "config has tls_cert or tls_key, but the probes do not use TLS: TLS ends at the ingress" -}}
{{- end -}}
{{- $values := dict
  "ROLLCAST_ALLOW_HOST" "allowHosts"
  "ROLLCAST_AUTH" "auth.mode"
  "ROLLCAST_AUTH_GROUPS_HEADER" "auth.proxy.groupsHeader"
  "ROLLCAST_AUTH_GROUPS_PREFIX" "auth.groupsPrefix"
  "ROLLCAST_AUTH_PROXY_FROM" "auth.proxy.from"
  "ROLLCAST_AUTH_USER_HEADER" "auth.proxy.userHeader"
  "ROLLCAST_AUTH_USER_PREFIX" "auth.userPrefix"
  "ROLLCAST_BASE_PATH" "basePath"
  "ROLLCAST_CONFIG" "config"
  "ROLLCAST_DATA_DIR" "history.persistence"
  "ROLLCAST_HISTORY" "history.storage"
  "ROLLCAST_INSECURE_NO_AUTH" "auth.insecureNoAuth"
  "ROLLCAST_KEEP_BYTES" "history.keepBytes"
  "ROLLCAST_KEEP_FOR" "history.keepFor"
  "ROLLCAST_LISTEN" "service.port"
  "ROLLCAST_NAMESPACE" "namespaces"
  "ROLLCAST_NO_HISTORY" "history.enabled"
  "ROLLCAST_OIDC_CLIENT_ID" "auth.oidc.clientId"
  "ROLLCAST_OIDC_CLIENT_SECRET_FILE" "auth.oidc.existingSecret"
  "ROLLCAST_OIDC_GROUPS_CLAIM" "auth.oidc.groupsClaim"
  "ROLLCAST_OIDC_ISSUER" "auth.oidc.issuer"
  "ROLLCAST_OIDC_SCOPES" "auth.oidc.scopes"
  "ROLLCAST_OIDC_USER_CLAIM" "auth.oidc.userClaim"
  "ROLLCAST_PUBLIC_URL" "publicUrl"
  "ROLLCAST_SESSION_KEYS" "sessionKeys.existingSecret"
  "ROLLCAST_TRUST_PROXY" "trustProxy"
-}}
{{- $names := dict -}}
{{- range include "rollcast.env" . | fromYamlArray -}}
{{- $_ := set $names .name true -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if hasPrefix "ROLLCAST_TLS_" .name -}}
{{- fail (printf "extraEnv sets %s, but the probes do not use TLS: TLS ends at the ingress" .name) -}}
{{- end -}}
{{- if hasKey $values .name -}}
{{- fail (printf "extraEnv sets %s: set %s instead" .name (get $values .name)) -}}
{{- end -}}
{{- if hasKey $names .name -}}
{{- fail (printf "extraEnv sets %s, which is set already: remove it" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- end -}}
{{- end -}}
