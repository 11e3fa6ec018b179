import { BOUND_VALUE, readBindings } from '@parley/shared/bound-value'
import { CONFIGURATION_RESOURCES, KINDS } from '@parley/shared/configuration-resources'
import { CREDENTIALS_CONFIG, configDocument, WORKFLOWS_CONFIG } from '@parley/shared/documents/assistant'
import { type JsonObject, jsonObject, pointerSegment } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { z } from 'zod'
import { ownOrigins, type Reference, type ResourceDefinition, valueAt } from './definition.ts'

/** An owner's type is free text; where it names a resource, in the singular or the plural, it is a reference. */
const owners: Reference[] = CONFIGURATION_RESOURCES.map((to) => ({
  field: 'owner',
  to,
  when: { field: 'ownerType', values: [to, to.replace(/s$/, '')] },
  // A config is a part of its owner: a config of an assistant may give it another model.
  changes: true,
}))

const origins = ownOrigins(
  'Where the credentials in it go, and nowhere else: the origins of what used them when they were stored, or of the first that did',
)

const refused = z
  .object({ since: z.iso.datetime(), reason: z.string() })
  .optional()
  .describe(
    'There while the authorization server gives no access token for the credentials in it: since when, and why',
  )

/** By these names an assistant has its models and their keys. */
const OF_MODELS = /^(?:model|ai[-_]chat[-_]provider|transcription|(?:\w+[-_])?credentials)$/i

/** A key that is put again for another assistant would take the model away from the first, without a word. */
function errorsOfOwner({ from, to }: { from: JsonObject | undefined; to: JsonObject }): FieldError[] {
  const isTaken =
    from?.key !== undefined &&
    OF_MODELS.test(String(from.name)) &&
    /^assistants?$/.test(String(from.ownerType)) &&
    (from.owner !== to.owner || !/^assistants?$/.test(String(to.ownerType)))
  if (!isTaken) return []
  const message = `is ${String(from.owner)} in what is stored: choose another key for another owner, or delete this config first`
  return [{ path: '/owner', code: 'owned_by_another', message }]
}

/** Returns errors in the bindings of tool arguments: the model would set a value whose name is misspelled. */
function errorsOfBindings({ sent }: { sent: JsonObject }): FieldError[] {
  const value = jsonObject.safeParse(sent.value).data ?? {}
  if (!/^actions?$/.test(String(sent.ownerType)) || !Object.hasOwn(value, BOUND_VALUE)) return []
  const read = readBindings(value[BOUND_VALUE])
  if (Array.isArray(read)) return []
  const path = ['value', BOUND_VALUE, ...(read.key === '' ? [] : [read.key])]
  return [
    {
      path: path.map((key) => `/${pointerSegment(key)}`).join(''),
      code: 'invalid_value',
      message: read.reason,
    },
  ]
}

export const config: ResourceDefinition = {
  name: 'configs',
  ...KINDS.configs,
  example: {
    name: 'AI_CHAT_PROVIDER',
    value: { provider: 'openai', model: 'x', deep: { $set: 1, 'dotted.key': true } },
    owner: 1,
    ownerType: 'assistant',
  },
  keyed: true,
  errorsOfChange: (change) => [
    ...errorsOfOwner(change),
    ...errorsOfBindings(change),
    ...errorsOfTokenUrl(change),
  ],
  schema: configDocument.body,
  own: { ...origins, shape: { ...origins.shape, refused } },
  indexed: { name: 'text', owner: 'integer', ownerType: 'text' },
  references: owners,
  freeReferences: [
    { field: 'value.ids', to: 'workflows', when: { field: 'name', values: [WORKFLOWS_CONFIG] } },
  ],
}

const CLIENTS = ['value.oauth', 'value.credentials.oauth']
const CLIENT_SECRETS = ['clientSecret', 'refreshToken']

/** The secrets of an OAuth client go where its `tokenUrl` was when they were stored: they follow it nowhere else. */
function errorsOfTokenUrl(change: {
  from: JsonObject | undefined
  /** The document after the change; unchanged secrets have the same sealed form in it. */
  to: JsonObject
}): FieldError[] {
  const { from, to } = change
  if (from === undefined || to.name !== CREDENTIALS_CONFIG) return []
  return CLIENTS.flatMap((path) => {
    const [before, after] = [from, to].map((doc) => valueAt(doc, `${path}.tokenUrl`))
    if (before === after) return []
    return CLIENT_SECRETS.flatMap((key): FieldError[] => {
      const stored = valueAt(from, `${path}.${key}`)
      if (stored === undefined || stored !== valueAt(to, `${path}.${key}`)) return []
      const message =
        'was stored for another tokenUrl: give another one, or delete the config and store it again'
      return [{ path: `/${path.replaceAll('.', '/')}/${key}`, code: 'secret_needed', message }]
    })
  })
}
