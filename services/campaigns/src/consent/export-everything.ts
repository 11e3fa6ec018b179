import { defined } from '@parley/shared/defined'
import type { Connection } from 'mongoose'
import { z } from 'zod'
import { campaignCollectionsOf } from '../campaigns/store/campaign-collections.ts'
import type { Dependencies } from '../dependencies.ts'
import { viewOf } from '../people/view.ts'
import { consentHistory } from '../store/consent-history.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { recipientsOf } from '../store/recipient-record.ts'
import { addressBookOf } from './address-book.ts'

const QUERY_MS = 5_000
const MAX_HISTORY = 1_000
const MAX_CAMPAIGNS = 1_000

const page = z.looseObject({ messages: z.array(z.unknown()), next: z.string().nullable() })

/** A page of all that every service has of a person; what there is once is on the first. Rejects with `unavailable`. */
export async function exportEverything(
  { connection, dispatcher, webhook }: Pick<Dependencies, 'connection' | 'dispatcher' | 'webhook'>,
  person: PersonRecord,
  { after }: { after?: string | undefined },
): Promise<object> {
  const { workspace, joined = [] } = person
  const { book, named } = await addressBookOf(webhook, person)
  const inner = `/internal/workspaces/${workspace}/people/export`
  const found = page.parse(await dispatcher.post(inner, { ...named, ...(after !== undefined && { after }) }))
  if (after !== undefined) return found
  const history = await consentHistory(connection, person, { limit: MAX_HISTORY })
  return {
    person: viewOf(person),
    consentHistory: history.map(({ workspace: _workspace, person: _person, ...change }) => change),
    addressBook: book,
    campaigns: await campaignsWith(connection, { workspace, people: [person._id, ...joined] }),
    ...found,
  }
}

/** What campaigns had of them, the latest first. */
async function campaignsWith(
  connection: Connection,
  { workspace, people }: { workspace: number; people: string[] },
): Promise<object[]> {
  const found = await recipientsOf(connection)
    .find({ workspace, person: { $in: people } }, { maxTimeMS: QUERY_MS })
    .sort({ claimedAt: -1 })
    .limit(MAX_CAMPAIGNS)
    .toArray()
  const ids = [...new Set(found.map(({ campaign }) => campaign))]
  const campaigns = await campaignCollectionsOf(connection)
    .campaigns.find({ _id: { $in: ids }, workspace }, { projection: { name: 1 }, maxTimeMS: QUERY_MS })
    .toArray()
  const names = new Map(campaigns.map(({ _id, name }) => [_id, name]))
  return found.map(({ campaign, state, reason, due, claimedAt, repliedAt, optedOutAt, category, code }) => ({
    ...{ campaign, state, due },
    ...defined({ name: names.get(campaign), reason, claimedAt, repliedAt, optedOutAt, category, code }),
  }))
}
