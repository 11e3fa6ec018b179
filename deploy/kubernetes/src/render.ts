import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CHECKOUT, STATE_DIRECTORY } from '@parley/local/checkout'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'

const FOLDER = join(CHECKOUT, 'deploy/kubernetes')
export const CHART = join(FOLDER, 'chart')
const RENDERED = join(STATE_DIRECTORY, 'kubernetes')
const RELEASE = 'parley'
const RENDER_MS = 60_000

/** The renderings: the name of a folder, and the values files of `examples` that it is made with. */
const EXAMPLES: Record<string, string[]> = {
  operators: ['operators.yaml', 'keda-and-prometheus.yaml'],
  managed: ['managed.yaml'],
}

/** A Kubernetes object, as far as a rendering is sorted by it. */
const resource = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
})
export type Resource = z.output<typeof resource>

/** Rendered files by their path in the folder of the rendering. */
type Files = Map<string, string>

/** Runs helm with values files, and more arguments. Rejects with helm's own error. */
export async function runHelm(helm: string, values: string[], more: string[] = []): Promise<string> {
  const args = ['template', RELEASE, CHART, '--namespace', RELEASE, '--include-crds', ...more]
  const files = values.flatMap((name) => ['--values', join(FOLDER, 'examples', name)])
  const { stdout } = await promisify(execFile)(helm, [...args, ...files], {
    timeout: RENDER_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
}

/** All files of the rendering, as helm makes them now: a folder for each example, in it one for each part. */
export async function renderAll(helm: string): Promise<Files> {
  const files: Files = new Map()
  for (const [example, values] of Object.entries(EXAMPLES)) {
    for (const [path, text] of inParts(await runHelm(helm, values))) files.set(`${example}/${path}`, text)
  }
  return files
}

export function writeRendered(files: Files): void {
  rmSync(RENDERED, { recursive: true, force: true })
  for (const [path, text] of files) {
    mkdirSync(dirname(join(RENDERED, path)), { recursive: true })
    writeFileSync(join(RENDERED, path), text)
  }
}

/** Every object of a rendering, with the file that it is in; the files of kustomize itself are left out. */
export function resourcesOf(files: Files): { file: string; resource: Resource }[] {
  return [...files]
    .filter(([file]) => !file.endsWith('kustomization.yaml'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([file, text]) => documentsIn(text).map((each) => ({ file, resource: each })))
}

export function documentsIn(text: string): Resource[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((value) => value !== null)
    .map((value) => resource.parse(value))
}

/** Helm's output by the part that an object belongs to and the template that it comes from. */
function inParts(output: string): Files {
  const files: Files = new Map()
  const texts = output.split(/^---\n/m).filter((each) => each.trim() !== '')
  const objects = texts.map((text) => ({ text, object: resource.parse(parse(text)) }))
  // Helm gives hooks in any sequence.
  for (const { text, object } of objects.toSorted(byName)) {
    const [, template = ''] = /^# Source: \w+\/templates\/(\S+)/.exec(text) ?? []
    const path = `${partOf(object)}/${template}`
    files.set(path, `${files.get(path) ?? ''}---\n${text.trimEnd()}\n`)
  }
  for (const part of new Set([...files.keys()].map(dirname))) {
    const names = [...files.keys()].filter((path) => dirname(path) === part)
    files.set(`${part}/kustomization.yaml`, kustomization(names.map((path) => path.slice(part.length + 1))))
  }
  return files
}

function byName({ object: a }: { object: Resource }, { object: b }: { object: Resource }): number {
  return `${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1
}

/** `before` has to be applied and done first; `scaling` and `monitoring` need KEDA and the Prometheus Operator. */
function partOf({ apiVersion, metadata }: Resource): string {
  if ('helm.sh/hook' in metadata.annotations) return 'before'
  if (apiVersion.startsWith('keda.sh/')) return 'scaling'
  return metadata.labels['app.kubernetes.io/component'] === 'monitoring' ? 'monitoring' : 'system'
}

function kustomization(names: string[]): string {
  const lines = [
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    `namespace: ${RELEASE}`,
  ]
  return [...lines, 'resources:', ...names.toSorted().map((name) => `  - ${name}`), ''].join('\n')
}
