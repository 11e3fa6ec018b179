import { Problem } from '@parley/shared/problem'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import type { PersonRecord } from '../store/person-record.ts'
import { addressBookOf } from './address-book.ts'
import { eraseHere } from './erase-here.ts'

/** Each takes a second and a half at most. */
const MAX_ROUNDS = 10

const progress = z.object({ done: z.boolean() })

/**
 * Erases a person in every service, in this one at last, so that it can be asked again after a failure. Rejects with
 * `unavailable` where a service is, and where there is more to erase than one request can.
 */
export async function eraseEverywhere(
  { connection, dispatcher, webhook }: Pick<Dependencies, 'connection' | 'dispatcher' | 'webhook'>,
  person: Pick<PersonRecord, 'workspace' | 'addresses' | 'joined'> & Partial<Pick<PersonRecord, '_id'>>,
): Promise<void> {
  const { workspace, _id, joined = [] } = person
  const people = _id === undefined ? [] : [_id, ...joined]
  const { named } = await addressBookOf(webhook, person)
  const { addresses } = named
  const inner = `/internal/workspaces/${workspace}/people/erase`
  for (let round = 0; ; round++) {
    if (round === MAX_ROUNDS)
      throw new Problem('unavailable', { detail: 'Not all is erased yet: the next request goes on with it.' })
    if (progress.parse(await dispatcher.post(inner, { ...named, people })).done) break
  }
  await webhook.post(inner, { addresses })
  await eraseHere(connection, { workspace, addresses })
}
