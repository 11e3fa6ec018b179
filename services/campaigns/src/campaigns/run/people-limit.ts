import { peopleFreeAt, peopleLeft, withPeople } from '../rules/allowance.ts'
import type { CampaignCollections } from '../store/campaign-collections.ts'

const MAX_ROUNDS = 20

/** How many people were reserved, and, where there is no more room, when there may be again. */
interface Reserved {
  count: number
  freeAt?: number
}

/** Reserves up to `count` people of what an account may write to in 24 hours: all of its campaigns share that. */
export async function reservePeople(
  { peopleLimits }: Pick<CampaignCollections, 'peopleLimits'>,
  { account, limit, count, now }: { account: string; limit: number; count: number; now: number },
): Promise<Reserved> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await peopleLimits.findOneAndUpdate(
      { _id: account },
      { $setOnInsert: { hours: {}, revision: 0 } },
      { upsert: true, returnDocument: 'after' },
    )
    const { hours = {}, revision = 0 } = found ?? {}
    const granted = Math.min(count, peopleLeft(hours, limit, now))
    if (granted === 0) return { count: 0, freeAt: peopleFreeAt(hours, now) }
    const { modifiedCount } = await peopleLimits.updateOne(
      { _id: account, revision },
      { $set: { hours: withPeople(hours, granted, now), revision: revision + 1 } },
    )
    if (modifiedCount === 1) return { count: granted }
  }
  // Others reserve all the time: they go on, and so does this one in a moment.
  return { count: 0 }
}

/** Gives back what was reserved and not used. */
export async function returnPeople(
  { peopleLimits }: Pick<CampaignCollections, 'peopleLimits'>,
  { account, count, now }: { account: string; count: number; now: number },
): Promise<void> {
  const hour = Math.floor(now / 3_600_000)
  await peopleLimits.updateOne({ _id: account }, { $inc: { [`hours.${hour}`]: -count, revision: 1 } })
}
