import { randomUUID } from 'node:crypto'
import { inTransaction } from '@parley/shared/transaction'
import type { Connection, mongo } from 'mongoose'
import { campaignCollectionsOf } from '../campaigns/store/campaign-collections.ts'
import type { CampaignRecord } from '../campaigns/store/campaign-record.ts'
import { consentsOf } from '../store/consent-history.ts'
import { peopleOf } from '../store/people-collection.ts'
import {
  ERASED,
  type RecipientRecord,
  recipientId,
  recipientsOf,
  TO_COME,
} from '../store/recipient-record.ts'

const QUERY_MS = 5_000
const BATCH = 500

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
    const person = { $in: [_id, ...joined] }
    await consentsOf(connection).deleteMany({ workspace, person })
    await campaignCollectionsOf(connection).campaigns.updateMany(
      { workspace, 'definition.audience.people': person },
      {
        $pull: { 'definition.audience.people': person },
        $inc: { revision: 1 },
      } as unknown as mongo.UpdateFilter<CampaignRecord>,
    )
    await forgetRecipients(connection, { workspace, person })
    // Campaigns that were listing their audience have them in it by now, or don't find them any more.
    await people.deleteOne({ _id, workspace })
    await forgetRecipients(connection, { workspace, person })
  }
}

/** Keeps the results of messages in the campaign's counts, as nobody's; people not written to yet are left out. */
async function forgetRecipients(
  connection: Connection,
  named: { workspace: number; person: { $in: string[] } },
): Promise<void> {
  const recipients = recipientsOf(connection)
  const client = { startSession: () => connection.getClient().startSession() }
  // Read in the transaction: of two that erase the same person at once, one finds nothing left.
  const forgetSome = async (session: mongo.ClientSession): Promise<number> => {
    const found = await recipients.find(named, { maxTimeMS: QUERY_MS, session }).limit(BATCH).toArray()
    if (found.length === 0) return 0
    await recipients.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session })
    await recipients.insertMany(found.map(nobody), { session })
    return found.length
  }
  while ((await inTransaction(client, forgetSome)) > 0);
}

function nobody(recipient: RecipientRecord): RecipientRecord {
  const { claim: _claim, checkAt: _checkAt, checks: _checks, messageAt: _messageAt, ...rest } = recipient
  const person = ERASED + randomUUID()
  const named = { ...rest, _id: recipientId(rest.campaign, person), person }
  return TO_COME.includes(rest.state)
    ? { ...named, state: 'left_out', reason: 'erased', updatedAt: new Date() }
    : named
}
