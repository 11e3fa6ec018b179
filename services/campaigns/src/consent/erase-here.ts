import type { Connection } from 'mongoose'
import { consentsOf } from '../store/consent-history.ts'
import { peopleOf } from '../store/people-collection.ts'

const QUERY_MS = 5_000

/** Erases what this service has of whoever has one of the addresses. It may be done again. */
export async function eraseHere(
  connection: Connection,
  { workspace, addresses }: { workspace: number; addresses: readonly string[] },
): Promise<void> {
  const people = peopleOf(connection)
  const found = await people
    .find({ workspace, addresses: { $in: [...addresses] } }, { maxTimeMS: QUERY_MS })
    .toArray()
  for (const { _id, joined = [] } of found) {
    await consentsOf(connection).deleteMany({ workspace, person: { $in: [_id, ...joined] } })
    await people.deleteOne({ _id, workspace })
  }
}
