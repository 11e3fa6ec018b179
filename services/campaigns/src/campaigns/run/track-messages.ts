import { defined } from '@parley/shared/defined'
import { z } from 'zod'
import { type RecipientRecord, recipientId } from '../../store/recipient-record.ts'
import { nextCheck, recipientStateOf } from '../rules/check-times.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { type CampaignServices, messageIdOf } from './campaign-parts.ts'

const BATCH = 500
const QUERY_MS = 5_000
/** A replay, or a message that may have been posted, is looked for so often, which is minutes; then there is none. */
const MOST_CHECKS = 12

const states = z.object({
  data: z.array(
    z.object({
      _id: z.string(),
      state: z.string(),
      isOpen: z.boolean(),
      updatedAt: z.iso.datetime(),
      due: z.iso.datetime().optional(),
      reason: z.string().optional(),
      code: z.string().optional(),
      cause: z.string().optional(),
      category: z.string().optional(),
      billable: z.boolean().nullish(),
    }),
  ),
})
type MessageState = z.output<typeof states>['data'][number]

/** Reads what became of the messages that are due to be looked at; says whether there may be more. Rejects with `unavailable`. */
export async function trackMessages(
  { collections, dispatcher }: Pick<CampaignServices, 'collections' | 'dispatcher'>,
  { _id: campaign, workspace }: Pick<CampaignRecord, '_id' | 'workspace'>,
  now: number,
): Promise<boolean> {
  const { recipients } = collections
  const due = await recipients
    .find({ campaign, checkAt: { $lte: new Date(now) } }, { maxTimeMS: QUERY_MS })
    .sort({ checkAt: 1 })
    .limit(BATCH)
    .toArray()
  if (due.length === 0) return false
  const ids = due.map(({ person }) => messageIdOf({ workspace, campaign, person }))
  const response = await dispatcher.post(`/internal/workspaces/${workspace}/campaigns/states`, { ids })
  const found = new Map(states.parse(response).data.map((one) => [one._id, one]))
  await recipients.bulkWrite(
    due.map((recipient, index) => ({
      updateOne: {
        filter: { _id: recipient._id },
        update: updateOf(recipient, found.get(ids[index] ?? ''), now),
      },
    })),
    { ordered: false },
  )
  return due.length === BATCH
}

function updateOf(recipient: RecipientRecord, found: MessageState | undefined, now: number) {
  const { checks = 0, state: before, postedAt = recipient.updatedAt, messageAt } = recipient
  // It is to run again, and has not yet: how it ended before says nothing any more.
  const isBeforeReplay =
    before === 'posted' && found?.isOpen === false && messageAt?.getTime() === Date.parse(found.updatedAt)
  const message = isBeforeReplay && checks < MOST_CHECKS ? undefined : found
  const standing = message && {
    ...message,
    due: message.due === undefined ? undefined : Date.parse(message.due),
  }
  // A message that has ended is removed from the log some day: then the recipient keeps its last state.
  const isGone = message === undefined && before !== 'posted' && before !== 'deferred'
  const isLookedFor = isGone && before === 'left_out' && checks < MOST_CHECKS
  const state = isGone ? before : recipientStateOf(standing, now)
  const isSame = state === before
  const looks = isSame ? checks + 1 : 0
  const next =
    isGone && !isLookedFor
      ? undefined
      : nextCheck(standing, { now, checks: looks, postedAt: postedAt.getTime() })
  const { reason, code, cause: said, category, billable, isOpen, updatedAt } = message ?? {}
  const failed = state === 'failed' || state === 'dead'
  // A refusal before a replay is over; a template that is paused ends the message, so an open one runs again.
  const isOver = !failed && (isOpen !== true || said === 'template_paused')
  const cause = isOver ? undefined : said
  const set = defined({
    ...{ state, checks: looks, category, cause },
    ...(before === 'left_out' && !isGone && { postedAt, claimedAt: postedAt }),
    ...(failed && { reason, code }),
    updatedAt: isSame ? undefined : new Date(now),
    checkAt: next === undefined ? undefined : new Date(next),
    billable: billable ?? undefined,
    messageAt: updatedAt === undefined ? undefined : new Date(updatedAt),
  })
  const gone = ['reason', 'code', 'cause', 'checkAt'].filter((field) => !Object.hasOwn(set, field))
  // A recipient whose message is over keeps the reason that was reported for it.
  const unset = isLookedFor ? [] : isGone ? ['checkAt'] : gone
  return { $set: set, $unset: Object.fromEntries(unset.map((field) => [field, '' as const])) }
}

const replies = z.object({
  data: z.array(z.object({ recipient: z.string(), at: z.iso.datetime(), isReply: z.boolean() })),
})
/** A thread is written behind its messages. */
const BEHIND_MS = 60_000

/** Notes who wrote after the campaign did, and how far that was looked for. Rejects with `unavailable`. */
export async function trackReplies(
  { collections, dispatcher }: Pick<CampaignServices, 'collections' | 'dispatcher'>,
  { _id: campaign, workspace, startedAt, repliesUntil }: CampaignRecord,
  now: number,
): Promise<void> {
  const since = repliesUntil ?? startedAt
  if (since === undefined) return
  const path = `/internal/workspaces/${workspace}/campaigns/replies`
  const { data } = replies.parse(await dispatcher.post(path, { campaign, since: since.toISOString() }))
  const own = data.filter(({ isReply }) => isReply)
  if (own.length > 0)
    await collections.recipients.bulkWrite(
      own.map(({ recipient, at }) => ({
        updateOne: {
          filter: { _id: recipientId(campaign, recipient), repliedAt: { $exists: false } },
          update: { $set: { repliedAt: new Date(at) } },
        },
      })),
      { ordered: false },
    )
  const last = data.at(-1)
  const until = Math.max(
    since.getTime(),
    Math.min(last === undefined ? now : Date.parse(last.at), now - BEHIND_MS),
  )
  if (until > since.getTime())
    await collections.campaigns.updateOne({ _id: campaign }, { $set: { repliesUntil: new Date(until) } })
}
