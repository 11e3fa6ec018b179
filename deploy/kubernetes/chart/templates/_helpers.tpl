{{/* What the templates know of each process. `calls` are the services that it talks to, `servers` what else. */}}
{{- define "parley.services" -}}
gateway:
  command: gateway/src/server.ts
  calls: [identity, webhook, configuration, dispatcher, campaigns]
  servers: [redis]
  secrets: [REDIS_URL]
  publicUrl: true
identity:
  command: services/identity/src/server.ts
  calls: []
  servers: [mongodb, redis]
  secrets: [MONGO_URL, REDIS_URL, PEPPERS, KEY_ENCRYPTION_KEYS]
  publicUrl: true
  baseDomain: true
webhook:
  command: services/webhook/src/server.ts
  calls: [identity, configuration]
  servers: [mongodb, rabbitmq, redis]
  secrets: [MONGO_URL, AMQP_URL, REDIS_URL, SIGNING_SECRET, SECRET_KEYS]
  publicUrl: true
configuration:
  command: services/configuration/src/server.ts
  calls: [identity]
  servers: [mongodb, rabbitmq]
  secrets: [MONGO_URL, AMQP_URL, SECRET_KEYS]
dispatcher:
  command: services/dispatcher/src/server.ts
  calls: [gateway, webhook, identity, configuration]
  servers: [mongodb, rabbitmq, redis]
  secrets: [MONGO_URL, AMQP_URL, REDIS_URL, SIGNING_SECRET, SECRET_KEYS]
campaigns:
  command: services/campaigns/src/server.ts
  calls: [identity, configuration, dispatcher, webhook]
  servers: [mongodb, rabbitmq]
  secrets: [MONGO_URL, AMQP_URL]
{{- end }}

{{/* The same of what runs to an end: the servers that it talks to. */}}
{{- define "parley.jobs" -}}
prepare-mongodb: [mongodb]
prepare-rabbitmq: [rabbitmq, rabbitmqManagement]
rotate-keys: [mongodb]
{{- end }}

{{/* The labels that select the pods of a component: (list $ "gateway"). */}}
{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/part-of: parley
app.kubernetes.io/version: {{ include "parley.tag" (index . 0) | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end }}

{{- define "parley.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The beginning of a pod's spec, the same for services and jobs. */}}
{{- define "parley.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "parley.container" -}}
image: {{ .Values.image.repository }}:{{ include "parley.tag" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Secrets are files, whose names are in `<NAME>_FILE`: a list of names. */}}
{{- define "parley.secretFiles" -}}
{{- range . }}
- name: {{ . }}_FILE
  value: /run/secrets/parley/{{ . }}
{{- end }}
{{- end }}

{{- define "parley.certificateEnvironment" -}}
{{- if .Values.certificates.existingSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/parley/certificates/ca.crt
{{- end }}
{{- end }}

{{- define "parley.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /run/secrets/parley, readOnly: true }
{{- if .Values.certificates.existingSecret }}
- { name: certificates, mountPath: /etc/parley/certificates, readOnly: true }
{{- end }}
{{- end }}

{{/* The volumes but for the secrets, which each pod has its own of. */}}
{{- define "parley.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
{{- with .Values.certificates.existingSecret }}
- name: certificates
  secret: { secretName: {{ . }}, defaultMode: 288 } # 0440
{{- end }}
{{- end }}

{{/* Keys of one Secret: (list name keys); a key is NAME, or NAME=the key's own name. */}}
{{- define "parley.secretItems" -}}
- secret:
    name: {{ index . 0 }}
    items:
      {{- range index . 1 }}
      {{- $parts := splitList "=" . }}
      - { key: {{ last $parts }}, path: {{ first $parts }} }
      {{- end }}
{{- end }}

{{/* http or https, by which the services are served and called. */}}
{{- define "parley.scheme" -}}
{{ empty .Values.tls.secretName | ternary "http" "https" }}
{{- end }}

{{/* The probe of a path: (list $ "/health/live"). */}}
{{- define "parley.probe" -}}
httpGet: { path: {{ index . 1 }}, port: http{{ if (index . 0).Values.tls.secretName }}, scheme: HTTPS{{ end }} }
{{- end }}

{{/* What MEMORY gives a process, as shared/src/memory.ts has it. */}}
{{- define "parley.sizes" -}}
small: { nodeOptions: --max-old-space-size=320 --max-semi-space-size=8, limit: 640Mi }
default: { nodeOptions: --max-old-space-size=1024 --max-semi-space-size=16, limit: 2Gi }
large: { nodeOptions: --max-old-space-size=4096 --max-semi-space-size=32, limit: 6Gi }
{{- end }}

{{/* The name of what scales a service, or nothing: (list $ "gateway"). */}}
{{- define "parley.scaler" -}}
{{- $ := index . 0 }}{{- $name := index . 1 }}
{{- if eq $name "dispatcher" }}{{ if $.Values.keda.enabled }}keda{{ end }}
{{- else if dig "autoscaling" "enabled" false (index $.Values.services $name) }}hpa{{ end }}
{{- end }}
