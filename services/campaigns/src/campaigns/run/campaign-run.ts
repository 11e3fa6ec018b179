import { every } from '@parley/shared/every'
import { isUnavailable } from '@parley/shared/unavailable'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { readFacts } from './campaign-facts.ts'
import { type Known, pauseByItself, type RunServices, step } from './campaign-step.ts'
import { listAudience, listingRate } from './list-audience.ts'
import { trackMessages, trackReplies } from './track-messages.ts'

const STEP_MS = 200
const TRACK_MS = 300
const FACTS_MS = 700
const REPLIES_MS = 2_000
const LIST_EVERY_MS = 400
/** So often in a row the next of an audience may not be found in time. */
const MOST_SLOW = 4
/** MongoDB's code of a read that took longer than we allow. */
const TOO_LONG = 50
/** Of a campaign that is over, only what became of its messages is read: the less often, the longer it is over. */
const OVER_MS = 5_000
const LONG_OVER_MS = 60_000
const OVER_PARTS = 20
/** While it is paused, or waits for a time that is further away than that. */
const REST_MS = 1_000

/** The run of one campaign by the instance that leads it. */
export interface CampaignRun {
  stop(): Promise<void>
}

/**
 * Runs a campaign for as long as `isLeader` says so: begins it, lists its audience, sends, stops it, and reads what became of
 * its messages. All that it knows is in the database, so that whoever leads it next goes on where this one was.
 */
export function startCampaignRun(
  services: RunServices,
  { campaignId, isLeader }: { campaignId: string; isLeader(): boolean },
): CampaignRun {
  const { collections, times, log } = services
  const known: Known = {
    campaign: undefined,
    facts: undefined,
    factsAt: Number.NEGATIVE_INFINITY,
    factsSince: undefined,
    bucket: undefined,
    perSecond: 0,
    isShort: false,
  }
  const failed = (what: string) => (error: Error) => {
    const level = isUnavailable(error) ? 'warn' : 'error'
    log[level](
      { campaign: campaignId, reason: error.message, ...(level === 'error' && { err: error }) },
      what,
    )
  }
  const isOver = () => known.campaign?.state === 'finished' || known.campaign?.state === 'cancelled'
  const restMs = () => restOf(known.campaign, Date.now())
  const loop = (
    what: string,
    ms: number | (() => number),
    work: (campaign: CampaignRecord) => Promise<unknown>,
  ) =>
    every({
      pauseMs: () => Math.max(typeof ms === 'number' ? ms : ms(), restMs()),
      run: async () => {
        if (isLeader() && known.campaign !== undefined) await work(known.campaign)
      },
      failed: failed(what),
    })
  const main = every({
    pauseMs: () => Math.max(STEP_MS, restMs()),
    run: async () => {
      if (!isLeader()) return
      known.campaign = (await collections.campaigns.findOne({ _id: campaignId })) ?? undefined
      if (known.campaign !== undefined) await step(services, known.campaign, { known, isLeader })
    },
    failed: failed('campaign step failed'),
  })
  let listingMs = 0
  let slow = 0
  // At most half of the time, however long it takes.
  const listPauseMs = () => Math.max(LIST_EVERY_MS - listingMs, listingMs)
  const loops = [
    main,
    loop('campaign audience not listed', listPauseMs, async (campaign) => {
      if (
        campaign.state !== 'running' ||
        campaign.listed?.isDone === true ||
        known.facts?.channel === undefined
      )
        return
      const { channel, purpose, perSecond } = known.facts
      const began = performance.now()
      const limit = Math.ceil((listingRate({ perSecond, isShort: known.isShort }) * LIST_EVERY_MS) / 1_000)
      const maxTimeMS = times.list
      const listed = await listAudience(services, campaign, { channel, purpose, limit, maxTimeMS }).catch(
        (error: Error & { code?: unknown }) => {
          if (error.code !== TOO_LONG) throw error
        },
      )
      listingMs = performance.now() - began
      slow = listed === undefined ? slow + 1 : 0
      if (slow >= MOST_SLOW) await pauseByItself(services, campaign, 'audience_slow')
      if (listed === undefined) return
      known.campaign = { ...campaign, listed }
    }),
    loop('messages of a campaign not read', TRACK_MS, (campaign) =>
      campaign.startedAt === undefined ? Promise.resolve() : trackMessages(services, campaign, Date.now()),
    ),
    loop('facts of a campaign not read', FACTS_MS, async (campaign) => {
      if (campaign.state === 'draft' || isOver()) return
      known.facts = await readFacts(services, campaign)
      known.factsAt = performance.now()
      known.factsSince = campaign.since?.getTime()
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

/** How long a campaign may be left alone, in milliseconds. */
function restOf(campaign: CampaignRecord | undefined, now: number): number {
  if (campaign === undefined) return 0
  const { state, endedAt, updatedAt, waiting } = campaign
  if (state === 'finished' || state === 'cancelled') {
    const overMs = now - (endedAt ?? updatedAt).getTime()
    return Math.min(Math.max(OVER_MS, overMs / OVER_PARTS), LONG_OVER_MS)
  }
  const isWaiting = waiting?.for === 'time' && (waiting.until?.getTime() ?? 0) > now + REST_MS
  return state === 'paused' || isWaiting ? REST_MS : 0
}
