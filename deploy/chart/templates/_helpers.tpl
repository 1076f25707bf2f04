{{/* Name of all objects: the release's, with the chart's name unless the release's contains it. */}}
{{- define "rollcast.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "rollcast" .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-rollcast" .Release.Name -}}
{{- end -}}
{{- end -}}

{{/*
Name of roles and bindings outside the release's namespace. It contains that namespace, so that releases of one name in two namespaces
have roles of their own.
*/}}
{{- define "rollcast.roleName" -}}
{{- $name := include "rollcast.fullname" . -}}
{{- if ne $name .Release.Namespace }}{{ .Release.Namespace }}:{{ end }}{{ $name }}
{{- end -}}

{{- define "rollcast.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "rollcast.fullname" .) -}}
{{- end -}}

{{- define "rollcast.selectorLabels" -}}
app.kubernetes.io/name: rollcast
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "rollcast.ownLabels" -}}
{{ include "rollcast.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "rollcast.labels" -}}
{{ include "rollcast.ownLabels" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Metadata of an object: name, namespace and labels. */}}
{{- define "rollcast.metadata" -}}
name: {{ include "rollcast.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "rollcast.labels" . | nindent 2 }}
{{- end -}}

{{- define "rollcast.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Host of publicUrl in lower case, without scheme and port. */}}
{{- define "rollcast.host" -}}
{{- regexReplaceAll "^https?://(\\[[^]]*\\]|[^/:]+).*$" .Values.publicUrl "${1}" | lower -}}
{{- end -}}

{{- define "rollcast.hasSignIn" -}}
{{- if ne .Values.auth.mode "none" }}yes{{ end -}}
{{- end -}}

{{/* The pod has a data volume: history in SQLite, with the links beside it. */}}
{{- define "rollcast.hasData" -}}
{{- if and .Values.history.enabled (eq .Values.history.storage "sqlite") }}yes{{ end -}}
{{- end -}}

{{/* What the roles allow on watched objects. Nothing is changed, and no Secret or ConfigMap is read. */}}
{{- define "rollcast.watchRules" -}}
- apiGroups: [apps]
  resources: [deployments, replicasets]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods, events]
  verbs: [list, watch]
{{- end -}}

{{- define "rollcast.subjects" -}}
- kind: ServiceAccount
  name: {{ include "rollcast.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* Environment variables that the chart sets. */}}
{{- define "rollcast.env" -}}
{{- $history := .Values.history -}}
# IPv4 and IPv6, or the one that the pod has.
- { name: ROLLCAST_LISTEN, value: "[::]:7440" }
- { name: ROLLCAST_AUTH, value: {{ .Values.auth.mode }} }
{{- if .Values.auth.insecureNoAuth }}
- { name: ROLLCAST_INSECURE_NO_AUTH, value: "true" }
{{- end }}
{{- with .Values.publicUrl }}
- { name: ROLLCAST_PUBLIC_URL, value: {{ quote . }} }
{{- end }}
{{- with .Values.basePath }}
- { name: ROLLCAST_BASE_PATH, value: {{ quote . }} }
{{- end }}
{{- if .Values.serviceMonitor.enabled }}
# Prometheus asks for /metrics by the address of the pod.
- { name: POD_IP, valueFrom: { fieldRef: { fieldPath: status.podIP } } }
{{- end }}
{{- $hosts := .Values.allowHosts }}
{{- if .Values.serviceMonitor.enabled }}{{ $hosts = prepend $hosts "$(POD_IP)" }}{{ end }}
{{- with $hosts }}
- { name: ROLLCAST_ALLOW_HOST, value: {{ join "," . | quote }} }
{{- end }}
{{- with .Values.trustProxy }}
- { name: ROLLCAST_TRUST_PROXY, value: {{ join "," . | quote }} }
{{- end }}
{{- if not .Values.clusterWide }}
- { name: ROLLCAST_NAMESPACE, value: {{ join "," .Values.namespaces | quote }} }
{{- end }}
{{- if .Values.config }}
- { name: ROLLCAST_CONFIG, value: /config/rollcast.toml }
{{- end }}
{{- if not $history.enabled }}
- { name: ROLLCAST_NO_HISTORY, value: "true" }
{{- else if eq $history.storage "postgres" }}
- name: ROLLCAST_HISTORY
  valueFrom:
    secretKeyRef: { name: {{ quote $history.existingSecret }}, key: {{ quote $history.existingSecretKey }} }
{{- else }}
- { name: ROLLCAST_DATA_DIR, value: /data }
{{- end }}
{{- if $history.enabled }}
{{- with $history.keepFor }}
- { name: ROLLCAST_KEEP_FOR, value: {{ quote . }} }
{{- end }}
{{- with $history.keepBytes }}
- { name: ROLLCAST_KEEP_BYTES, value: {{ quote . }} }
{{- end }}
{{- end }}
{{- if include "rollcast.hasSignIn" . }}
{{- if .Values.sessionKeys.existingSecret }}
- { name: ROLLCAST_SESSION_KEYS, value: {{ printf "/keys/%s" .Values.sessionKeys.key | quote }} }
{{- end }}
{{- if include "rollcast.hasData" . }}
- { name: ROLLCAST_SHARES, value: /data/shares.json }
{{- end }}
{{- end }}
{{- if eq .Values.auth.mode "proxy" }}
{{- with .Values.auth.proxy }}
- { name: ROLLCAST_AUTH_PROXY_FROM, value: {{ join "," .from | quote }} }
{{- with .userHeader }}
- { name: ROLLCAST_AUTH_USER_HEADER, value: {{ quote . }} }
{{- end }}
{{- with .groupsHeader }}
- { name: ROLLCAST_AUTH_GROUPS_HEADER, value: {{ quote . }} }
{{- end }}
{{- end }}
{{- end }}
{{- if eq .Values.auth.mode "oidc" }}
{{- with .Values.auth.oidc }}
- { name: ROLLCAST_OIDC_ISSUER, value: {{ quote .issuer }} }
- { name: ROLLCAST_OIDC_CLIENT_ID, value: {{ quote .clientId }} }
{{- if .existingSecret }}
- { name: ROLLCAST_OIDC_CLIENT_SECRET_FILE, value: /oidc/client-secret }
{{- end }}
{{- with .scopes }}
- { name: ROLLCAST_OIDC_SCOPES, value: {{ join "," . | quote }} }
{{- end }}
{{- with .userClaim }}
- { name: ROLLCAST_OIDC_USER_CLAIM, value: {{ quote . }} }
{{- end }}
{{- with .groupsClaim }}
- { name: ROLLCAST_OIDC_GROUPS_CLAIM, value: {{ quote . }} }
{{- end }}
{{- end }}
{{- end }}
{{- if has .Values.auth.mode (list "oidc" "proxy") }}
{{- if kindIs "string" .Values.auth.userPrefix }}
- { name: ROLLCAST_AUTH_USER_PREFIX, value: {{ quote .Values.auth.userPrefix }} }
{{- end }}
{{- if kindIs "string" .Values.auth.groupsPrefix }}
- { name: ROLLCAST_AUTH_GROUPS_PREFIX, value: {{ quote .Values.auth.groupsPrefix }} }
{{- end }}
{{- end }}
{{- end -}}
