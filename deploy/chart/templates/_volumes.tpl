{{/* Volumes of the pod. Its group alone reads secrets: Rollcast refuses those that everybody can read. */}}
{{- define "rollcast.volumes" -}}
{{- if and (include "rollcast.hasSignIn" .) .Values.sessionKeys.existingSecret }}
- name: keys
  secret: { secretName: {{ quote .Values.sessionKeys.existingSecret }}, defaultMode: 0440 }
{{- end }}
{{- if and (eq .Values.auth.mode "oidc") .Values.auth.oidc.existingSecret }}
- name: oidc
  secret: { secretName: {{ quote .Values.auth.oidc.existingSecret }}, defaultMode: 0440 }
{{- end }}
{{- if .Values.config }}
- name: config
  configMap: { name: {{ include "rollcast.fullname" . }} }
{{- end }}
{{- if include "rollcast.hasData" . }}
- name: data
{{- with .Values.history.persistence }}
  {{- if .enabled }}
  persistentVolumeClaim: { claimName: {{ .existingClaim | default (include "rollcast.fullname" $) | quote }} }
  {{- else }}
  # The history ends with the pod. A PersistentVolumeClaim keeps it.
  emptyDir: {}
  {{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "rollcast.volumeMounts" -}}
{{- if and (include "rollcast.hasSignIn" .) .Values.sessionKeys.existingSecret }}
- { name: keys, mountPath: /keys, readOnly: true }
{{- end }}
{{- if and (eq .Values.auth.mode "oidc") .Values.auth.oidc.existingSecret }}
- { name: oidc, mountPath: /oidc, readOnly: true }
{{- end }}
{{- if .Values.config }}
- { name: config, mountPath: /config, readOnly: true }
{{- end }}
{{- if include "rollcast.hasData" . }}
- { name: data, mountPath: /data }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
