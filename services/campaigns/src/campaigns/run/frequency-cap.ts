import type { RecipientRecord } from '../../store/recipient-record.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import type { CampaignServices } from './campaign-parts.ts'

const DAY_MS = 24 * 60 * 60_000
const QUERY_MS = 5_000
/** Never written to, or not in the end. */
const NOT_WRITTEN = ['waiting', 'left_out', 'dead']

/**
 * Which of the claimed recipients got as many messages of other campaigns as one may get in so many days, by their ids.
 * They are claimed first and counted then, so that of two campaigns one sees the other; `undecided` where that one
 * is about to be sent, and may yet be left out.
 */
export async function overCap(
  { collections }: Pick<CampaignServices, 'collections'>,
  { _id: campaign, workspace, definition }: CampaignRecord,
  { claimed, now }: { claimed: readonly RecipientRecord[]; now: number },
): Promise<Map<string, 'over' | 'undecided'>> {
  const cap = definition.frequencyCap
  if (cap === undefined) return new Map()
  const counts = await collections.recipients
    .aggregate<{ _id: string; written: number; claimed: number }>(
      [
        {
          $match: {
            workspace,
            person: { $in: claimed.map(({ person }) => person) },
            claimedAt: { $gte: new Date(now - cap.days * DAY_MS) },
            campaign: { $ne: campaign },
            state: { $nin: NOT_WRITTEN },
          },
        },
        {
          $group: {
            _id: '$person',
            written: { $sum: { $cond: [{ $eq: ['$state', 'claimed'] }, 0, 1] } },
            claimed: { $sum: { $cond: [{ $eq: ['$state', 'claimed'] }, 1, 0] } },
          },
        },
      ],
      { maxTimeMS: QUERY_MS },
    )
    .toArray()
  const byPerson = new Map(counts.map((one) => [one._id, one]))
  return new Map(
    claimed.flatMap(({ _id, person }): [string, 'over' | 'undecided'][] => {
      const { written = 0, claimed: others = 0 } = byPerson.get(person) ?? {}
      if (written >= cap.messages) return [[_id, 'over']]
      return written + others >= cap.messages ? [[_id, 'undecided']] : []
    }),
  )
}
