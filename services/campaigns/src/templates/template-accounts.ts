import type { InternalClient } from '@parley/shared/internal-client'
import { jsonObject, safeInteger } from '@parley/shared/json-object'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { RUNTIME } from '../store/author.ts'
import { type AccountRecord, accountsOf } from './template-store.ts'
import { removeTemplates } from './write-templates.ts'

const MAX_CHANNELS = 10_000
const PAGE = 200

const channelPage = z.object({
  data: z.array(z.looseObject({ _id: safeInteger, callback: z.string(), config: jsonObject })),
  next: safeInteger.nullish(),
})

/** The dependencies of finding accounts. */
export interface Accounts {
  connection: Connection
  configuration: Pick<InternalClient, 'get'>
}

/**
 * Finds the accounts of a workspace's channels anew: those that no channel has any more go, with their templates. Rejects with
 * `unavailable`.
 */
export async function findAccounts(
  { connection, configuration }: Accounts,
  workspace: number,
): Promise<AccountRecord[]> {
  const accounts = accountsOf(connection)
  const found = await accountsIn(configuration, workspace)
  for (const { _id, channels, provider, account } of found)
    await accounts.updateOne(
      { _id },
      { $set: { channels }, $setOnInsert: { workspace, provider, account, dueAt: new Date() } },
      { upsert: true },
    )
  const gone = { workspace, _id: { $nin: found.map(({ _id }) => _id) } }
  for (const { _id, account } of await accounts.find(gone).toArray()) {
    await removeTemplates(connection, { workspace, account }, RUNTIME)
    await accounts.deleteOne({ _id })
  }
  return accounts.find({ workspace }).sort({ _id: 1 }).toArray()
}

type Found = Pick<AccountRecord, '_id' | 'channels' | 'provider' | 'account'>

async function accountsIn(configuration: Pick<InternalClient, 'get'>, workspace: number): Promise<Found[]> {
  const found = new Map<string, Found>()
  let after = ''
  for (let read = 0; read < MAX_CHANNELS; read += PAGE) {
    const path = `/internal/workspaces/${workspace}/channels?limit=${PAGE}&after=${after}`
    const { data, next } = channelPage.parse(await configuration.get(path))
    for (const { _id: channel, callback: provider, config } of data) {
      const account = accountIn(provider, config)
      if (account === undefined) continue
      const _id = `${workspace}/${provider}/${account}`
      const { channels = [] } = found.get(_id) ?? {}
      found.set(_id, { _id, provider, account, channels: [...channels, channel] })
    }
    if (next === null || next === undefined) break
    after = String(next)
  }
  return [...found.values()]
}

/** A setting may be stored as a number. */
function accountIn(provider: string, config: Readonly<Record<string, unknown>>): string | undefined {
  const texts = Object.entries(config).flatMap(([key, value]) =>
    typeof value === 'string' || typeof value === 'number' ? [[key, String(value)] as const] : [],
  )
  return providerNamed(provider)?.templates?.accountOf(Object.fromEntries(texts))
}
