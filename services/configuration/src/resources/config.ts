import { BOUND_VALUE, readBindings } from '@parley/shared/bound-value'
import { CONFIGURATION_RESOURCES, KINDS } from '@parley/shared/configuration-resources'
import { configDocument, WORKFLOWS_CONFIG } from '@parley/shared/documents/assistant'
import { type JsonObject, jsonObject, pointerSegment } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { ownOrigins, type Reference, type ResourceDefinition } from './definition.ts'

/** An owner's type is free text; where it names a resource, in the singular or the plural, it is a reference. */
const owners: Reference[] = CONFIGURATION_RESOURCES.map((to) => ({
  field: 'owner',
  to,
  when: { field: 'ownerType', values: [to, to.replace(/s$/, '')] },
  // What it owns is a part of what it is: a config of an assistant may give it another model.
  changes: true,
}))

/** A key that is put again for another assistant would take the model away from the first, without a word. */
function errorsOfOwner({ from, to }: { from: JsonObject | undefined; to: JsonObject }): FieldError[] {
  const isTaken =
    from !== undefined &&
    /^assistants?$/.test(String(from.ownerType)) &&
    (from.owner !== to.owner || !/^assistants?$/.test(String(to.ownerType)))
  if (!isTaken) return []
  const message = `is ${String(from.owner)} in what is stored: choose another key for another owner, or delete this config first`
  return [{ path: '/owner', code: 'owned_by_another', message }]
}

/** What a config binds the arguments of tools to: a value that is misspelled would be the model's to set. */
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
  errorsOfChange: (change) => [...errorsOfOwner(change), ...errorsOfBindings(change)],
  schema: configDocument.body,
  own: ownOrigins(
    'Where the credentials in it go, and nowhere else: the origins of what used them when they were stored, or of the first that did',
  ),
  indexed: { name: 'text', owner: 'integer', ownerType: 'text' },
  references: owners,
  freeReferences: [
    { field: 'value.ids', to: 'workflows', when: { field: 'name', values: [WORKFLOWS_CONFIG] } },
  ],
}
