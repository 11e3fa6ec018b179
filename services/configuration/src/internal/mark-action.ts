import { isDeepStrictEqual } from 'node:util'
import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import { ownedConfigs } from '../credentials/used-configs.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { definitions } from '../resources/all-resources.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { changeAsRuntime } from '../store/runtime-change.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

const MAX_REASON = 1_024
const MAX_MISSING = 50

const works = z.strictObject({ state: z.literal('working') })
const reason = z.string().max(MAX_REASON)

/** The result of asking for access tokens with the credentials of an action. */
export const credentialsMark = z.discriminatedUnion('state', [
  works,
  z.strictObject({ state: z.literal('refused'), reason }),
])

/** The result of asking the server of an action for its tools. */
export const serverMark = z.discriminatedUnion('state', [
  works,
  z.strictObject({ state: z.literal('failing'), reason }),
])

/** The parts of an action's spec or server that can't be used as tools. */
export const toolsMark = z.strictObject({ missing: z.array(z.string().max(MAX_REASON)).max(MAX_MISSING) })

type Mark = z.output<typeof credentialsMark | typeof serverMark>
type Needed = Pick<Dependencies, 'database' | 'writes'>

/** Marks the credentials of an action; false where nothing changes. */
export async function markCredentials(
  needed: Needed,
  { workspace, action }: { workspace: number; action: number },
  mark: z.output<typeof credentialsMark>,
): Promise<boolean> {
  const { database } = needed
  const owned = await ownedConfigs({ database, workspace }, { owner: action, ownerType: 'action' })
  const credentials = owned.find(({ name }) => name === CREDENTIALS_CONFIG)
  if (credentials === undefined) return false
  const address = { workspace, id: credentials._id }
  return markDocument(needed, {
    definition: definitions.configs,
    address,
    field: 'refused',
    value: reasonIn(mark),
  })
}

/** Marks an action; false where nothing changes. */
export const markServer = (
  needed: Needed,
  address: { workspace: number; id: number },
  mark: z.output<typeof serverMark>,
): Promise<boolean> =>
  markDocument(needed, { definition: definitions.actions, address, field: 'failing', value: reasonIn(mark) })

/** Marks what is missing of the tools of an action; false where nothing changes. */
export const markTools = (
  needed: Needed,
  address: { workspace: number; id: number },
  { missing }: z.output<typeof toolsMark>,
): Promise<boolean> => {
  const value = missing.length === 0 ? undefined : { reasons: missing }
  return markDocument(needed, { definition: definitions.actions, address, field: 'missing', value })
}

const reasonIn = (mark: Mark): { reason: string } | undefined =>
  mark.state === 'working' ? undefined : { reason: mark.reason }

interface Marking {
  definition: ResourceDefinition
  address: { workspace: number; id: number }
  field: 'refused' | 'failing' | 'missing'
  /** Undefined where there is nothing to be marked any more. */
  value: JsonObject | undefined
}

/** Each mark is one write, which the document's next event reports. */
function markDocument({ database, writes }: Needed, marking: Marking): Promise<boolean> {
  const { definition, address } = marking
  const key = `${definition.name}/${address.workspace}/${address.id}`
  const change = { database, definition, address }
  return writes.run(key, () => changeAsRuntime(change, (doc) => markedBy(doc, marking)))
}

/** Undefined where it stays as it is. */
function markedBy(
  doc: ResourceDocument,
  { field, value }: Pick<Marking, 'field' | 'value'>,
): ResourceDocument | undefined {
  const updatedAt = new Date().toISOString()
  const { [field]: before, ...unmarked } = doc
  if (value === undefined)
    return before === undefined ? undefined : { ...(unmarked as ResourceDocument), updatedAt }
  const { since = updatedAt, ...said } = jsonObject.safeParse(before).data ?? {}
  return isDeepStrictEqual(said, value) ? undefined : { ...doc, updatedAt, [field]: { since, ...value } }
}
