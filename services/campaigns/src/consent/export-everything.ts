import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { viewOf } from '../people/view.ts'
import { consentsOf } from '../store/consent-history.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { addressBookOf } from './address-book.ts'

const QUERY_MS = 5_000
const MAX_HISTORY = 1_000

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
  const history = await consentsOf(connection)
    .find({ workspace, person: { $in: [person._id, ...joined] } }, { maxTimeMS: QUERY_MS })
    .sort({ at: -1, _id: -1 })
    .limit(MAX_HISTORY)
    .toArray()
  return {
    person: viewOf(person),
    consentHistory: history.map(({ workspace: _workspace, person: _person, ...change }) => change),
    addressBook: book,
    ...found,
  }
}
