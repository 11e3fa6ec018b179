import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '@parley/shared/parse-json'
import type { ProviderTemplate } from '@parley/shared/providers/templates'
import type { Connection, mongo } from 'mongoose'
import { inTransactionOn, writeHistory } from '../history/write-history.ts'
import type { Author } from '../store/author.ts'
import { type AccountRecord, type TemplateRecord, templateKey, templatesOf } from './template-store.ts'

/** In one transaction. */
const BATCH = 100

/** The author of changes to a workspace's templates, and the time at which the changes were found. */
interface Writing {
  workspace: number
  by: Author
  at: Date
}

/** Stores what the provider has; what was asked for later stays as it is. */
export async function storeTemplates(
  connection: Connection,
  { workspace, provider, account }: Pick<AccountRecord, 'workspace' | 'provider' | 'account'>,
  { found, by, at }: { found: readonly ProviderTemplate[] } & Pick<Writing, 'by' | 'at'>,
): Promise<void> {
  const all = found.map(({ providerId: id, components, ...template }): TemplateRecord => {
    const said = { ...template, components: JSON.stringify(components) }
    const _id = templateKey(workspace, id)
    return { ...{ _id, workspace, id, provider, account }, ...said, syncedAt: at, updatedAt: at }
  })
  for (let first = 0; first < all.length; first += BATCH) {
    const some = all.slice(first, first + BATCH)
    await inTransactionOn(connection, (session) =>
      storeSome(connection, session, { some, workspace, by, at }),
    )
  }
}

async function storeSome(
  connection: Connection,
  session: mongo.ClientSession,
  { some, ...writing }: { some: readonly TemplateRecord[] } & Writing,
): Promise<void> {
  const templates = templatesOf(connection)
  const stored = await templates.find({ _id: { $in: some.map(({ _id }) => _id) } }, { session }).toArray()
  const known = new Map(stored.map((one) => [one._id, one]))
  const pairs = some.flatMap((after) => {
    const before = known.get(after._id)
    if (before !== undefined && before.syncedAt > writing.at) return []
    const isSame = before !== undefined && isDeepStrictEqual(contentOf(before), contentOf(after))
    return [{ before, after: isSame ? { ...after, updatedAt: before.updatedAt } : after }]
  })
  if (pairs.length === 0) return
  await templates.bulkWrite(
    pairs.map(({ after }) => ({
      replaceOne: { filter: { _id: after._id }, replacement: after, upsert: true },
    })),
    { ordered: false, session },
  )
  await noteChanges(connection, session, { pairs, ...writing })
}

/** Removes templates that are not at their provider any more, or whose account is of no channel. */
export function removeTemplates(
  connection: Connection,
  filter: mongo.Filter<TemplateRecord> & { workspace: number },
  by: Author,
): Promise<void> {
  const { workspace } = filter
  return inTransactionOn(connection, async (session) => {
    const gone = await templatesOf(connection).find(filter, { session }).toArray()
    if (gone.length === 0) return
    await templatesOf(connection).deleteMany({ _id: { $in: gone.map(({ _id }) => _id) } }, { session })
    const pairs = gone.map((before) => ({ before, after: undefined }))
    await noteChanges(connection, session, { pairs, workspace, by, at: new Date() })
  })
}

/** Changes those that a filter finds. */
export function changeTemplates(
  connection: Connection,
  filter: mongo.Filter<TemplateRecord> & { workspace: number },
  { set, by, at }: { set: Partial<TemplateRecord> } & Pick<Writing, 'by' | 'at'>,
): Promise<void> {
  const { workspace } = filter
  return inTransactionOn(connection, async (session) => {
    const found = await templatesOf(connection).find(filter, { session }).toArray()
    await templatesOf(connection).updateMany(filter, { $set: { ...set, updatedAt: at } }, { session })
    const pairs = found.map((before) => ({ before, after: { ...before, ...set } }))
    await noteChanges(connection, session, { pairs, workspace, by, at })
  })
}

interface Pair {
  before: TemplateRecord | undefined
  after: TemplateRecord | undefined
}

function noteChanges(
  connection: Connection,
  session: mongo.ClientSession,
  { pairs, workspace, by }: { pairs: readonly Pair[] } & Writing,
): Promise<void> {
  const changes = pairs.map(({ before, after }) => ({
    id: (after ?? before)?.id ?? '',
    before: before && contentOf(before),
    after: after && contentOf(after),
  }))
  return writeHistory(connection, session, { workspace, resource: 'templates', by, changes })
}

/** Returns the content of a template, independent of the time at which it was asked for. */
function contentOf({
  _id,
  id,
  workspace,
  provider,
  syncedAt,
  updatedAt,
  components,
  ...said
}: TemplateRecord): object {
  return { ...said, components: parseJson(components) }
}
