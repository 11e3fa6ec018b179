import { defined } from '@parley/shared/defined'
import { Problem } from '@parley/shared/problem'
import type { Connection } from 'mongoose'
import { upsertPerson } from '../people/people-store.ts'
import { addToHistory, type ConsentEntry, consentsOf, endedFileEntries } from '../store/consent-history.ts'
import { noteOptOut } from '../store/note-opt-out.ts'
import { peopleOf } from '../store/people-collection.ts'
import type { PersonRecord } from '../store/person-record.ts'

const MAX_ROUNDS = 5

/**
 * Stores a change for whoever has the addresses, who are one person from then on. What was said later stays. It may be done
 * again. Rejects with `unavailable`.
 */
export async function applyConsent(
  connection: Connection,
  change: Omit<ConsentEntry, 'person'> & { addresses: readonly string[] },
): Promise<void> {
  const { addresses, ...entry } = change
  const { _id, workspace, purpose, status, at, source, text } = entry
  const field = `consent.${purpose}`
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await personWith(connection, workspace, addresses)
    const person = found._id
    const before = endedFileEntries(found, {
      consent: { ...found.consent, [purpose]: { status, at, source } },
    })
    await addToHistory(connection, { ...entry, person }, ...before)
    const consent = { status, at, source, ...defined({ text }) }
    const later = {
      $cond: [{ $lte: [{ $ifNull: [`$${field}.at`, new Date(0)] }, at] }, { $literal: consent }, `$${field}`],
    }
    const { matchedCount } = await peopleOf(connection).updateOne({ _id: person, workspace }, [
      { $set: { [field]: later, updatedAt: '$$NOW', revision: { $add: ['$revision', 1] } } },
    ])
    if (matchedCount > 0) {
      const people = [person, ...(found.joined ?? [])]
      if (purpose === 'marketing' && status === 'withdrawn')
        await noteOptOut(connection, { workspace, people, at })
      return
    }
    // They were joined to somebody else meanwhile, or erased.
    await consentsOf(connection).deleteOne({ _id, person })
  }
  throw new Problem('unavailable', { detail: 'A person is changed by too many at once.' })
}

/** Returns the person of these addresses; if they would be too many, the person of the first one. */
async function personWith(
  connection: Connection,
  workspace: number,
  addresses: readonly string[],
): Promise<PersonRecord> {
  for (const claimed of [addresses, addresses.slice(0, 1)]) {
    const outcome = await upsertPerson({ connection, workspace, claim: { addresses: claimed } })
    if (outcome.result !== 'refused') return outcome.person
  }
  throw new Error('one address is too many for a person')
}
