import { isDuplicate } from '@parley/shared/insert-new'
import { parseJson } from '@parley/shared/parse-json'
import type { TemplateDefinition } from '@parley/shared/providers/templates'
import { LRUCache } from 'lru-cache'
import type { mongo } from 'mongoose'
import type { TemplateRecord } from '../../store/template-record.ts'

const MAX_CHARACTERS = 16 * 1024 * 1024
const FRESH_MS = 2_000
const READ_MS = 1_000

/** The templates of one name, of an account of a workspace. */
interface TemplateSet {
  workspace: number
  account: string
  name: string
}

/** The known templates. The campaigns service has the originals, and reports every change. */
export interface KnownTemplates {
  /** In each language; empty where nothing is known of the name. Rejects while the database is unavailable. */
  find(set: TemplateSet): Promise<readonly TemplateDefinition[]>
  /** Stores what was known `at`, unless something later is. */
  store(sets: readonly StoredSet[]): Promise<void>
}

interface StoredSet extends TemplateSet {
  definitions: readonly TemplateDefinition[]
  at: Date
}

/** From the store, which memory is trusted for two seconds. */
export function createKnownTemplates(templates: mongo.Collection<TemplateRecord>): KnownTemplates {
  const known = new LRUCache<string, readonly TemplateDefinition[], TemplateSet>({
    ttl: FRESH_MS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (definitions, key) => key.length + 1 + JSON.stringify(definitions).length,
    ignoreFetchAbort: true,
    fetchMethod: async (_id) => {
      const found = await templates.findOne({ _id }, { maxTimeMS: READ_MS })
      return found === null ? [] : (parseJson(found.definitions) as TemplateDefinition[])
    },
  })
  return {
    find: async (set) => (await known.fetch(idOf(set), { context: set })) ?? [],
    async store(sets) {
      const storedAt = new Date()
      for (const set of sets) await replaceOlder(templates, { ...set, storedAt })
      for (const set of sets) known.delete(idOf(set))
    },
  }
}

async function replaceOlder(
  templates: mongo.Collection<TemplateRecord>,
  { definitions, at, storedAt, ...set }: StoredSet & { storedAt: Date },
): Promise<void> {
  const _id = idOf(set)
  const { workspace } = set
  const record = { workspace, definitions: JSON.stringify(definitions), at, storedAt }
  try {
    await templates.replaceOne({ _id, at: { $lte: at } }, record, { upsert: true })
  } catch (error) {
    // When something later is stored, the upsert finds its id taken.
    if (!isDuplicate(error, '_id')) throw error
  }
}

const idOf = ({ workspace, account, name }: TemplateSet): string => `${workspace}/${account}/${name}`
