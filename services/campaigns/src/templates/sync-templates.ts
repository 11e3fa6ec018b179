import type { InternalClient } from '@parley/shared/internal-client'
import type { ProviderTemplate, TemplateNotice } from '@parley/shared/providers/templates'
import type { Connection } from 'mongoose'
import { type Author, RUNTIME } from '../store/author.ts'
import { askForTemplates, type Refusal } from './ask-provider.ts'
import {
  type AccountRecord,
  accountsOf,
  definitionOf,
  type TemplateRecord,
  templatesOf,
} from './template-store.ts'
import { changeTemplates, removeTemplates, storeTemplates } from './write-templates.ts'

const MAX_PAGES = 200
/** Of all templates of an account together, in JSON. */
const MAX_CHARACTERS = 32 * 1024 * 1024
const PUSHED_AT_ONCE = 50
const DAY_MS = 24 * 60 * 60 * 1_000
const REFUSED_AGAIN_MS = 60 * 60 * 1_000
const AGAIN_MS = 60_000

/** The dependencies of synchronising. */
export interface Syncing {
  connection: Connection
  dispatcher: Pick<InternalClient, 'post'>
}

/**
 * Reads all templates of an account at its provider, or those of one name, 32 Mi characters at most: what is not there any more
 * goes, and the dispatcher gets what messages of them need. Resolves with the refusal where there is one. Rejects with `unavailable`.
 */
export async function syncAccount(
  syncing: Syncing,
  account: AccountRecord,
  { name, notice, by = RUNTIME }: { name?: string; notice?: TemplateNotice; by?: Author } = {},
): Promise<Refusal | undefined> {
  const accounts = accountsOf(syncing.connection)
  const { _id } = account
  const at = new Date()
  const listed = await listAll(syncing, account, name)
  if (listed.kind !== 'done') {
    if (notice !== undefined) await changeStored(syncing, account, notice, at)
    const dueAt = new Date(at.getTime() + (listed.kind === 'unavailable' ? AGAIN_MS : REFUSED_AGAIN_MS))
    await accounts.updateOne({ _id }, { $set: { error: listed.message, dueAt }, $unset: { leasedUntil: '' } })
    return listed
  }
  const found = listed.templates.map((one) => withNotice(one, notice))
  await storeTemplates(syncing.connection, account, { found, at, by })
  const names = name === undefined ? await namesOf(syncing.connection, account, found) : [name]
  await push(syncing, account, { names, at })
  const { workspace, account: ofAccount } = account
  const gone = { workspace, account: ofAccount, syncedAt: { $lt: at }, ...(name !== undefined && { name }) }
  await removeTemplates(syncing.connection, gone, by)
  const next = name === undefined ? { syncedAt: at, dueAt: new Date(at.getTime() + DAY_MS) } : {}
  await accounts.updateOne({ _id }, { $set: next, $unset: { error: '', leasedUntil: '' } })
  return undefined
}

async function listAll(
  { dispatcher }: Syncing,
  { workspace, channels }: AccountRecord,
  name: string | undefined,
): Promise<{ kind: 'done'; templates: ProviderTemplate[] } | Refusal> {
  const templates: ProviderTemplate[] = []
  let after: string | undefined
  let characters = 0
  for (let read = 0; read < MAX_PAGES; read++) {
    const page = await askForTemplates(dispatcher, { workspace, channel: channels[0] ?? 0 }, { name, after })
    if (page.kind !== 'done') return page
    characters += JSON.stringify(page.templates).length
    if (characters > MAX_CHARACTERS)
      return { kind: 'refused', message: 'It has more templates than are read.' }
    // A provider may take the name for a part of it.
    templates.push(...page.templates.filter((one) => name === undefined || one.name === name))
    after = page.next
    if (after === undefined) break
  }
  return { kind: 'done', templates }
}

/** The list may be older than what the provider has just told. */
function withNotice(template: ProviderTemplate, notice: TemplateNotice | undefined): ProviderTemplate {
  if (notice === undefined || (notice.language ?? template.language) !== template.language) return template
  const { status = template.status, category = template.category, quality = template.quality } = notice
  return { ...template, status, category, ...(quality !== undefined && { quality }) }
}

/** Those that are stored, and those that are gone. */
async function namesOf(
  connection: Connection,
  { workspace, account }: AccountRecord,
  found: readonly ProviderTemplate[],
): Promise<string[]> {
  const stored = await templatesOf(connection).distinct('name', { workspace, account })
  return [...new Set([...stored, ...found.map(({ name }) => name)])]
}

/** Tells the dispatcher what is known of these names from now on. */
async function push(
  { connection, dispatcher }: Syncing,
  { workspace, account }: AccountRecord,
  { names, at }: { names: readonly string[]; at: Date },
): Promise<void> {
  for (let first = 0; first < names.length; first += PUSHED_AT_ONCE) {
    const some = names.slice(first, first + PUSHED_AT_ONCE)
    const stored = await templatesOf(connection)
      .find({ workspace, account, name: { $in: [...some] }, syncedAt: { $gte: at } })
      .toArray()
    const sets = some.map((name) => ({
      ...{ account, name, at: at.toISOString() },
      definitions: stored.filter((one) => one.name === name).map(definitionOf),
    }))
    await dispatcher.post(`/internal/workspaces/${workspace}/templates`, { sets })
  }
}

/** The provider could not be asked, and told of a change itself. */
async function changeStored(
  syncing: Syncing,
  account: AccountRecord,
  { name, language, status, category, quality }: TemplateNotice,
  at: Date,
): Promise<void> {
  if (name === undefined) return
  const change: Partial<TemplateRecord> = {
    ...(status !== undefined && { status }),
    ...(category !== undefined && { category }),
    ...(quality !== undefined && { quality }),
  }
  if (Object.keys(change).length === 0) return
  const { workspace } = account
  const ofName = { workspace, account: account.account, name }
  const filter = { ...ofName, ...(language !== undefined && { language }) }
  await changeTemplates(syncing.connection, filter, { set: change, by: RUNTIME, at })
  await templatesOf(syncing.connection).updateMany(ofName, { $set: { syncedAt: at } })
  await push(syncing, account, { names: [name], at })
}
