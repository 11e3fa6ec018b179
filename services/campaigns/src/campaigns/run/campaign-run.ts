import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { isUnavailable } from '@parley/shared/unavailable'
import type { Connection, mongo } from 'mongoose'
import { createRateBucket, inFlightLimit, type RateBucket } from '../rules/allowance.ts'
import { budgetMessages } from '../rules/budget.ts'
import type { CampaignRecord, CampaignWait } from '../store/campaign-record.ts'
import { changeState } from '../store/change-campaign.ts'
import type { RecipientRecord } from '../store/recipient-record.ts'
import { audienceFilter } from './audience-filter.ts'
import { type CampaignFacts, type FindTemplate, readFacts } from './campaign-facts.ts'
import type { CampaignServices } from './campaign-parts.ts'
import { listAudience } from './list-audience.ts'
import { reservePeople, returnPeople } from './people-limit.ts'
import { claim, findClaimed, findDue, MAX_BATCH, postClaimed } from './send-batch.ts'
import { trackMessages, trackReplies } from './track-messages.ts'
import { leaveOutWaiting, replayPaused } from './wind-down.ts'

/** What running a campaign takes. */
export interface RunServices extends CampaignServices {
  findTemplate: FindTemplate
  log: Log
}

const STEP_MS = 200
const TRACK_MS = 300
const FACTS_MS = 700
const REPLIES_MS = 2_000
const LIST_PAUSE_MS = 20
/** Of a campaign that is over, only what became of its messages is read. */
const OVER_MS = 5_000
const PAUSED_MS = 1_000
/** Nothing is sent by facts that are older: what stops it might not be known. */
const FACTS_FOR_MS = 5_000
const COUNT_MS = 5_000
const WATCHED_MS = 3 * 24 * 60 * 60_000

/** The run of one campaign by the instance that leads it. */
export interface CampaignRun {
  stop(): Promise<void>
}

interface Known {
  campaign: CampaignRecord | undefined
  facts: CampaignFacts | undefined
  factsAt: number
  bucket: RateBucket | undefined
  perSecond: number
}

/**
 * Runs a campaign for as long as `isLeader` says so: begins it, lists its audience, sends, stops it, and reads what became of
 * its messages. All that it knows is in the database, so that whoever leads it next goes on where this one was.
 */
export function startCampaignRun(
  services: RunServices,
  { campaignId, isLeader }: { campaignId: string; isLeader(): boolean },
): CampaignRun {
  const { collections, log } = services
  const known: Known = {
    campaign: undefined,
    facts: undefined,
    factsAt: Number.NEGATIVE_INFINITY,
    bucket: undefined,
    perSecond: 0,
  }
  const failed = (what: string) => (error: Error) => {
    const level = isUnavailable(error) ? 'warn' : 'error'
    log[level](
      { campaign: campaignId, reason: error.message, ...(level === 'error' && { err: error }) },
      what,
    )
  }
  const isOver = () => known.campaign?.state === 'finished' || known.campaign?.state === 'cancelled'
  const restMs = () => (isOver() ? OVER_MS : known.campaign?.state === 'paused' ? PAUSED_MS : 0)
  const loop = (what: string, ms: number, work: (campaign: CampaignRecord) => Promise<unknown>) =>
    every({
      pauseMs: () => Math.max(ms, restMs()),
      run: async () => {
        if (isLeader() && known.campaign !== undefined) await work(known.campaign)
      },
      failed: failed(what),
    })
  const main = every({
    pauseMs: () => (isOver() ? OVER_MS : STEP_MS),
    run: async () => {
      if (!isLeader()) return
      known.campaign = (await collections.campaigns.findOne({ _id: campaignId })) ?? undefined
      if (known.campaign !== undefined) await step(services, known.campaign, { known, isLeader })
    },
    failed: failed('campaign step failed'),
  })
  const loops = [
    main,
    loop('campaign audience not listed', LIST_PAUSE_MS, async (campaign) => {
      if (
        campaign.state !== 'running' ||
        campaign.listed?.isDone === true ||
        known.facts?.channel === undefined
      )
        return
      const audience = audienceFilter(campaign)
      const { channel, purpose } = known.facts
      const listed = await listAudience(services, campaign, { channel, purpose, audience })
      known.campaign = { ...campaign, listed }
    }),
    loop('messages of a campaign not read', TRACK_MS, (campaign) =>
      campaign.startedAt === undefined ? Promise.resolve() : trackMessages(services, campaign, Date.now()),
    ),
    loop('facts of a campaign not read', FACTS_MS, async (campaign) => {
      if (campaign.state === 'draft' || isOver()) return
      known.facts = await readFacts(services, campaign)
      known.factsAt = performance.now()
    }),
    loop('replies to a campaign not read', REPLIES_MS, (campaign) =>
      trackReplies(services, campaign, Date.now()),
    ),
  ]
  return {
    stop: async () => {
      await Promise.all(loops.map((one) => one.stop()))
    },
  }
}

interface Stepping {
  known: Known
  isLeader(): boolean
}

/** The next thing to do for a campaign, by the state that it is in. */
async function step(services: RunServices, campaign: CampaignRecord, stepping: Stepping): Promise<void> {
  const { collections } = services
  const { known } = stepping
  const now = Date.now()
  if (campaign.state === 'scheduled') return begin(services, campaign, known, now)
  if (campaign.state === 'running' || campaign.state === 'paused') {
    const { endsAt } = campaign.definition.schedule
    if (endsAt !== undefined && Date.parse(endsAt) <= now) {
      await leaveOutWaiting(services, campaign, 'ended')
      await finish(services, campaign)
      return
    }
  }
  if (campaign.state === 'running') return run(services, campaign, stepping, now)
  if (campaign.state === 'cancelled' || campaign.state === 'finished') {
    await leaveOutWaiting(services, campaign, campaign.state === 'cancelled' ? 'cancelled' : 'ended')
    await settleClaimed(services, campaign, known)
    const endedAt = campaign.endedAt?.getTime() ?? campaign.updatedAt.getTime()
    if (now - endedAt > WATCHED_MS)
      await collections.campaigns.updateOne({ _id: campaign._id }, { $unset: { active: '' } })
  }
}

async function begin(
  services: RunServices,
  campaign: CampaignRecord,
  known: Known,
  now: number,
): Promise<void> {
  const at = new Date(now)
  if ((campaign.beginsAt?.getTime() ?? 0) > now || known.facts === undefined) return
  const shape = known.facts.template?.shape
  await changeState(services.collections, campaign, {
    action: 'begin',
    set: { startedAt: at, since: at, ...(shape !== undefined && { shape }) },
    unset: ['waiting'],
  })
}

async function run(
  services: RunServices,
  campaign: CampaignRecord,
  { known, isLeader }: Stepping,
  now: number,
): Promise<void> {
  const { collections } = services
  const { facts } = known
  const isFresh = performance.now() - known.factsAt < FACTS_FOR_MS
  if (facts === undefined || !isFresh) return waitFor(services, campaign, { for: 'configuration' })
  if (facts.stop !== undefined) {
    services.log.warn({ campaign: campaign._id, reason: facts.stop }, 'campaign paused by itself')
    await changeState(collections, campaign, {
      action: 'pause',
      set: { paused: { reason: facts.stop, at: new Date(now) } },
      unset: ['waiting'],
    })
    known.facts = undefined
    return
  }
  const { channel } = facts
  if (channel === undefined) return
  const unposted = await findClaimed(services, campaign._id)
  if (unposted.length > 0) {
    if (isLeader()) await postClaimed(services, campaign, { claimed: unposted, facts, channel, now })
    return
  }
  await replayPaused(services, campaign)
  const allowed = await allowance(services, campaign, known, facts)
  const due = allowed.count === 0 ? [] : await findDue(services, campaign._id, { now, limit: allowed.count })
  if (due.length === 0) {
    if (allowed.count > 0 || allowed.wait === undefined) return atRest(services, campaign)
    return waitFor(services, campaign, allowed.wait)
  }
  const reserved = await reserve(services, campaign, { facts, count: due.length, now })
  if (reserved.count === 0)
    return waitFor(services, campaign, {
      for: 'people_limit',
      ...(reserved.freeAt !== undefined && { until: new Date(reserved.freeAt) }),
    })
  if (!isLeader()) return
  const claimed = await claim(services, due.slice(0, reserved.count), now)
  known.bucket?.take(claimed.length)
  const posted = await postClaimed(services, campaign, { claimed, facts, channel, now })
  if (reserved.key !== undefined && posted < reserved.count)
    await returnPeople(collections, { account: reserved.key, count: reserved.count - posted, now })
  await waitFor(services, campaign, undefined)
}

/** How many may be sent now, or what is waited for. */
async function allowance(
  { collections }: RunServices,
  { _id: campaign, definition }: CampaignRecord,
  known: Known,
  { perSecond }: CampaignFacts,
): Promise<{ count: number; wait?: CampaignWait }> {
  if (known.bucket === undefined || known.perSecond !== perSecond) {
    known.bucket = createRateBucket(perSecond, performance.now())
    known.perSecond = perSecond
  }
  const limit = inFlightLimit(perSecond)
  const inFlight = await collections.recipients.countDocuments(
    { campaign, state: { $in: ['claimed', 'posted'] } },
    { limit, maxTimeMS: COUNT_MS },
  )
  if (inFlight >= limit) return { count: 0, wait: { for: 'in_flight' } }
  const most = budgetMessages(definition.budget)
  const left = most === undefined ? MAX_BATCH : most - (await usedOf({ collections }, campaign, most))
  if (left <= 0) return { count: 0, wait: { for: 'budget' } }
  return { count: Math.min(known.bucket.available(performance.now()), limit - inFlight, left, MAX_BATCH) }
}

/** How many messages count against the budget: what is dead cost nothing. */
function usedOf(
  { collections }: Pick<RunServices, 'collections'>,
  campaign: string,
  most: number,
): Promise<number> {
  return collections.recipients.countDocuments(
    { campaign, state: { $in: ['claimed', 'posted', 'deferred', 'sent', 'delivered', 'read', 'failed'] } },
    { limit: most, maxTimeMS: COUNT_MS },
  )
}

async function reserve(
  { collections }: RunServices,
  { workspace }: CampaignRecord,
  { facts, count, now }: { facts: CampaignFacts; count: number; now: number },
): Promise<{ count: number; freeAt?: number; key?: string }> {
  const { account, peopleADay: limit } = facts
  if (account === undefined || limit === null) return { count }
  const key = `${workspace}/${account}`
  return { ...(await reservePeople(collections, { account: key, limit, count, now })), key }
}

/** Nothing is due: it is over once everybody is listed, nobody waits and nothing is under way; else the next is waited for. */
async function atRest(services: RunServices, campaign: CampaignRecord): Promise<void> {
  if (campaign.listed?.isDone !== true) return
  const { recipients } = services.collections
  const first = (filter: mongo.Filter<RecipientRecord>) =>
    recipients.findOne(
      { campaign: campaign._id, ...filter },
      { projection: { due: 1 }, sort: { due: 1 }, maxTimeMS: COUNT_MS },
    )
  const next = await first({ state: { $in: ['waiting', 'claimed'] } })
  if (next !== null) {
    if (next.due.getTime() > Date.now()) await waitFor(services, campaign, { for: 'time', until: next.due })
    return
  }
  // What is under way may yet be refused because the template was paused, and is run again then: looked for afterwards.
  if ((await first({ state: 'posted' })) !== null) return waitFor(services, campaign, { for: 'in_flight' })
  if ((await first({ state: 'dead', cause: 'template_paused' })) === null) await finish(services, campaign)
}

async function finish({ collections }: RunServices, campaign: CampaignRecord): Promise<void> {
  await changeState(collections, campaign, {
    action: 'finish',
    set: { endedAt: new Date() },
    unset: ['waiting', 'paused'],
  })
}

async function settleClaimed(services: RunServices, campaign: CampaignRecord, known: Known): Promise<void> {
  const claimed = await findClaimed(services, campaign._id)
  if (claimed.length === 0) return
  const facts = known.facts ?? (await readFacts(services, campaign))
  if (facts.channel === undefined) return leaveOutWaiting(services, campaign, 'cancelled', 'claimed')
  await postClaimed(services, campaign, { claimed, facts, channel: facts.channel, now: Date.now() })
}

/** Says what is waited for, where that is something else than before. */
async function waitFor(
  { collections }: { collections: RunServices['collections']; connection: Connection },
  { _id, waiting }: CampaignRecord,
  wait: CampaignWait | undefined,
): Promise<void> {
  const isSame = waiting?.for === wait?.for && waiting?.until?.getTime() === wait?.until?.getTime()
  if (isSame) return
  await collections.campaigns.updateOne(
    { _id },
    wait === undefined ? { $unset: { waiting: '' } } : { $set: { waiting: wait } },
  )
}
