import { defined } from '@parley/shared/defined'
import { cursorOf, encodeCursor } from '@parley/shared/list-query'
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
const PAGE = 1_000
const MAX_CURSOR = 1_024

const page = z.looseObject({ messages: z.array(z.unknown()), next: z.string().nullable() })

/** Behind which changes of consent, campaigns and page of the dispatcher's the next page begins; null for what is over. */
export const exportCursor = cursorOf(
  z.tuple([
    z.tuple([z.number(), z.string().max(MAX_CURSOR)]).nullable(),
    z.string().max(MAX_CURSOR).nullable(),
    z.string().max(MAX_CURSOR).nullable(),
  ]),
)

/** A page of all that every service has of a person; what there is once is on the first. Rejects with `unavailable`. */
export async function exportEverything(
  { connection, dispatcher, webhook }: Pick<Dependencies, 'connection' | 'dispatcher' | 'webhook'>,
  person: PersonRecord,
  { after }: { after?: z.output<typeof exportCursor> | undefined },
): Promise<object> {
  const { workspace } = person
  const { book, named } = await addressBookOf(webhook, person)
  const [afterConsent, afterCampaign, afterOthers] = after ?? []
  const ofDispatcher = async () => {
    if (afterOthers === null) return { messages: [], next: null }
    const path = `/internal/workspaces/${workspace}/people/export`
    return page.parse(await dispatcher.post(path, { ...named, ...defined({ after: afterOthers }) }))
  }
  const [found, consents, campaigns] = await Promise.all([
    ofDispatcher(),
    consentsAfter(connection, person, afterConsent),
    campaignsAfter(connection, person, afterCampaign),
  ])
  const positions = [consents.next, campaigns.next, found.next]
  return {
    ...(after === undefined && { person: viewOf(person), addressBook: book }),
    consentHistory: consents.data,
    campaigns: campaigns.data,
    ...found,
    next: positions.every((one) => one === null) ? null : encodeCursor(positions),
  }
}

interface Part<P> {
  data: object[]
  next: P | null
}

async function consentsAfter(
  connection: Connection,
  person: PersonRecord,
  after: [number, string] | null | undefined,
): Promise<Part<[number, string]>> {
  if (after === null) return { data: [], next: null }
  const behind = after && { at: new Date(after[0]), _id: after[1] }
  const found = await consentHistory(connection, person, { limit: PAGE, ...defined({ behind }) })
  const last = found.length < PAGE ? undefined : found.at(-1)
  return {
    data: found.map(({ workspace: _workspace, person: _person, ...change }) => change),
    next: last === undefined ? null : [last.at.getTime(), last._id],
  }
}

/** Returns the campaigns that had them as a recipient, the newest campaign first. */
async function campaignsAfter(
  connection: Connection,
  { workspace, _id: person, joined = [] }: PersonRecord,
  after: string | null | undefined,
): Promise<Part<string>> {
  if (after === null) return { data: [], next: null }
  const found = await recipientsOf(connection)
    .find(
      {
        ...{ workspace, person: { $in: [person, ...joined] } },
        ...(after !== undefined && { _id: { $lt: after } }),
      },
      { maxTimeMS: QUERY_MS },
    )
    .sort({ _id: -1 })
    .limit(PAGE)
    .toArray()
  const ids = [...new Set(found.map(({ campaign }) => campaign))]
  const campaigns = await campaignCollectionsOf(connection)
    .campaigns.find({ _id: { $in: ids }, workspace }, { projection: { name: 1 }, maxTimeMS: QUERY_MS })
    .toArray()
  const names = new Map(campaigns.map(({ _id, name }) => [_id, name]))
  return {
    data: found.map(({ campaign, state, reason, due, claimedAt, repliedAt, optedOutAt, category, code }) => ({
      ...{ campaign, state, due },
      ...defined({ name: names.get(campaign), reason, claimedAt, repliedAt, optedOutAt, category, code }),
    })),
    next: found.length < PAGE ? null : (found.at(-1)?._id ?? null),
  }
}
