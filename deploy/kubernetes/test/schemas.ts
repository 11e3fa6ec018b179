import type { Resource } from '../src/render.ts'

/** The packages with the schemas of an API group; the others are Kubernetes' own. */
const PACKAGES: Record<string, string> = {
  'keda.sh': '@kubernetes-models/keda/keda.sh',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator/monitoring.coreos.com',
}

interface Model {
  prototype: { validate(this: unknown): void }
}

/** Errors of a resource by the published schema of its kind, properties that it does not know included. */
export async function schemaErrors(resource: Resource): Promise<string[]> {
  const [version = '', group = ''] = resource.apiVersion.split('/').toReversed()
  const folder = PACKAGES[group] ?? ['kubernetes-models', group].filter((part) => part !== '').join('/')
  const module: Record<string, Model> = await import(`${folder}/${version}/${resource.kind}`)
  const Kind = module[resource.kind] as Model
  const unread = new Set<string>()
  try {
    // A model of its own would be a clone, of which everything was read.
    Kind.prototype.validate.call(watched(resource, '', unread))
  } catch (error) {
    return [(error as Error).message]
  }
  return [...unread].map((path) => `${path} is unknown`)
}

/**
 * The value, which takes from `unread` each property that somebody reads. The published validators read every property that
 * their schema has and no other, so what they leave unread has a wrong name.
 */
function watched(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const children = new Map<string, unknown>()
  for (const key of Object.keys(value)) unread.add(`${path}/${key}`)
  return new Proxy(value, {
    get(target, key, receiver) {
      const child = Reflect.get(target, key, receiver)
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return child
      unread.delete(`${path}/${key}`)
      if (!children.has(key)) children.set(key, watched(child, `${path}/${key}`, unread))
      return children.get(key)
    },
  })
}
