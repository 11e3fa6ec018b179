import type { Log } from '@parley/shared/log'
import type { Redis } from 'ioredis'
import { createLocalRate, type RateDecision, type RateIntervals, type RateKeys } from './local-rate.ts'
import { type FoundSlot, type SlotRequest, WaitingSends } from './waiting-sends.ts'

/** How long a reading counts when no better one comes, in milliseconds. */
const GOOD_FOR_MS = 30_000

/** Milliseconds that the clocks may drift from each other in that time. */
const DRIFT_MS = 50

/** When a send may leave: what was found, or will be once those before it have got the number's rate. */
export type SendSlot = FoundSlot | { kind: 'queued'; found: Promise<FoundSlot> }

export interface SendRateLimit {
  /**
   * Finds the next slot for a send. Never rejects: with Redis unavailable this instance goes on alone, at an eighth of
   * each number's rate.
   */
  slot(keys: RateKeys, request: SlotRequest): Promise<SendSlot>
  /** Another slot for a send whose slot of `missedAt` went by unused: the person's rate moves by as much as it is later. */
  anotherSlot(keys: RateKeys, missedAt: number): Promise<Extract<SendSlot, { kind: 'reserved' }>>
  /** Counts what came in on the number: it takes of the same rate. */
  count(keys: RateKeys): Promise<void>
  /** The provider says that it was too fast: halves the number's rate for 3 s. */
  slowDown(keys: RateKeys): Promise<void>
}

/** A number is limited below what it may send, so that no second sees more for the jitter of timers. */
const USED_SHARE = 73 / 80
/** How far ahead a slot is reserved; whoever would wait longer is queued. */
const RESERVE_MS = 1_000
/**
 * So much less than a person's burst allows: a send that was long on its journey must not bring the next one too close.
 * It is charged once in a burst of 264 s, so it costs next to nothing.
 */
const PERSON_MARGIN_MS = 1_500
const SLOW_MS = 3_000
/** A slot missed by more was reserved by a clock that was set since. */
const MAX_LATE_MS = 10_000
/** Slots further ahead come from a clock of Redis that was set back since, or from a node that was primary before. */
const MAX_AHEAD_MS = 60_000
/** The share of one instance while the instances can't agree: there may be eight. */
const ALONE = 8

/** How long after a send of a number the next one is, in milliseconds. */
export const numberInterval = ({ perSecond }: Pick<RateKeys, 'perSecond'>): number =>
  1_000 / (perSecond * USED_SHARE)

function intervalsOf(keys: RateKeys): RateIntervals {
  const { intervalMs, burst } = keys.perPerson ?? { intervalMs: 0, burst: 1 }
  const personTolerance = Math.max(0, intervalMs * (burst - 1) - PERSON_MARGIN_MS)
  return { numberInterval: numberInterval(keys), personInterval: intervalMs, personTolerance }
}

/**
 * GCRA on two keys; a slot is taken only when the number alone decides, so that one person delays nobody else. A
 * person's rate counts from slot to slot: when it was asked for says nothing.
 */
const SLOT_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local interval, person_interval, person_tolerance, ahead = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('EXISTS', KEYS[3]) == 1 then interval = interval * 2 end
local max_ahead = tonumber(ARGV[8])
local number = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
if number - now > max_ahead then number = now end
local take = function()
  redis.call('SET', KEYS[1], string.format('%.3f', number + interval), 'PX', math.ceil(number + interval - now + 1000))
  return { 'reserved', math.ceil(number), math.floor(now) }
end
if ARGV[5] == 'another' then
  number = math.max(number, now + tonumber(ARGV[6]))
  local person = tonumber(redis.call('GET', KEYS[2]) or 0)
  if person - now > person_tolerance + person_interval + max_ahead then person = now end
  if person > now then
    person = person + number - now + tonumber(ARGV[7])
    redis.call('SET', KEYS[2], string.format('%.3f', person), 'PX', math.ceil(person - now + 1000))
  end
  return take()
end
local person = math.max(tonumber(redis.call('GET', KEYS[2]) or 0), number)
if person - number > person_tolerance + person_interval + max_ahead then person = number end
local person_free = person - person_tolerance
if person_free > number then return { 'person_busy', math.ceil(person_free), math.floor(now) } end
if number - now > ahead then return { 'number_busy', math.ceil(number - ahead / 2), math.floor(now) } end
redis.call('SET', KEYS[2], string.format('%.3f', person + person_interval), 'PX', math.ceil(person + person_interval - now + 1000))
return take()
`
const COUNT_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local number = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
if number - now > tonumber(ARGV[2]) then number = now end
number = number + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%.3f', number), 'PX', math.ceil(number - now + 1000))
return 0
`

/** Limits every number to its rate and every pair to its own, over all instances, by Redis. */
export function createSendRateLimit(redis: Redis, log: Log): SendRateLimit {
  // Made when it is first needed: it takes the memory for all that it may remember at once.
  let alone: ReturnType<typeof createLocalRate> | undefined
  let unavailable = false
  const reportUnavailable = (nowUnavailable: boolean) => {
    if (nowUnavailable !== unavailable)
      log.warn(
        nowUnavailable
          ? "redis is unavailable: this instance sends at an eighth of each number's rate until it is back"
          : 'redis is back: all instances share the rate of each number again',
      )
    unavailable = nowUnavailable
  }
  const clock = createRemoteClock()
  /** How long the last answer took: another slot must not have gone by before it is known. */
  let roundTrip = 0
  const find = async (keys: RateKeys, missedAt?: number): Promise<RateDecision> => {
    const sentAt = Date.now()
    const late = missedAt === undefined ? undefined : Math.min(Math.max(0, sentAt - missedAt), MAX_LATE_MS)
    try {
      const began = performance.now()
      const request = late === undefined ? 'first' : 'another'
      const limits = intervalsOf(keys)
      const answer = await redis.eval(
        SLOT_SCRIPT,
        3,
        ...redisKeys(keys),
        ...[limits.numberInterval, limits.personInterval, limits.personTolerance, RESERVE_MS],
        request,
        roundTrip,
        late ?? 0,
        MAX_AHEAD_MS,
      )
      const [kind, at, theirs] = answer as [RateDecision['kind'], number, number]
      roundTrip = performance.now() - began
      // Our clock may have been set meanwhile: both times are by what it says now.
      const receivedAt = Date.now()
      clock.observe({ sentAt: receivedAt - roundTrip, receivedAt, theirs })
      reportUnavailable(false)
      return { kind, at: clock.toOurs(at) }
    } catch {
      reportUnavailable(true)
      // A person's messages are one thread as a rule, and a thread is in one place: that rate needs no sharing out.
      alone ??= createLocalRate({
        intervalsOf: (one) => ({ ...intervalsOf(one), numberInterval: numberInterval(one) * ALONE }),
        reserve: RESERVE_MS,
      })
      const decision = alone(keys, { now: performance.now(), late })
      return { ...decision, at: decision.at + wallClockAhead() }
    }
  }
  const waiting = new WaitingSends({ ask: find, intervalOf: numberInterval })
  return {
    async slot(keys, request) {
      const queued = (notBefore: number): SendSlot => ({
        kind: 'queued',
        found: waiting.add(keys, { ...request, notBefore }),
      })
      if (waiting.has(keys.number)) return queued(0)
      const { kind, at } = await find(keys)
      if (kind === 'number_busy') return queued(at)
      return { kind: kind === 'reserved' ? kind : 'later', at }
    },
    anotherSlot: async (keys, missedAt) => ({ kind: 'reserved', at: (await find(keys, missedAt)).at }),
    async count(keys) {
      await redis
        .eval(COUNT_SCRIPT, 1, redisKeys(keys)[0], numberInterval(keys), MAX_AHEAD_MS)
        .catch(() => reportUnavailable(true))
    },
    async slowDown(keys) {
      await redis.set(redisKeys(keys)[2], '1', 'PX', SLOW_MS).catch(() => reportUnavailable(true))
    },
  }
}

/** All keys of a number in one slot of a cluster. */
function redisKeys({ number, person }: RateKeys): [string, string, string] {
  return [`pace:{${number}}`, `pace:{${number}}:${person}`, `pace:{${number}}:slow`]
}

/**
 * How far the wall clock is ahead of the monotonic one at the moment. What is remembered is on the monotonic clock: by
 * the other, once it is set back, everybody would wait for its time to come again.
 */
const wallClockAhead = () => Date.now() - performance.now()

/** Another machine's clock, in terms of our own. */
interface RemoteClock {
  /** Its clock said `theirs` at some moment between `sentAt` and `receivedAt` of ours (milliseconds since the epoch). */
  observe(reading: { sentAt: number; receivedAt: number; theirs: number }): void
  /** Our time for a time of theirs. */
  toOurs(theirs: number): number
}

/**
 * Goes by the reading with the shortest round trip, so that a busy event loop, or a slow network, does not shift
 * what was agreed on by the other clock.
 */
export function createRemoteClock(): RemoteClock {
  let best = { roundTrip: Number.POSITIVE_INFINITY, ahead: 0, at: 0 }
  return {
    observe({ sentAt, receivedAt, theirs }) {
      const roundTrip = receivedAt - sentAt
      const ahead = theirs - (sentAt + receivedAt) / 2
      const isOld = receivedAt - best.at > GOOD_FOR_MS
      // Each is right to half of its round trip; when they don't meet, one of the clocks was set in between.
      const wasSet = Math.abs(ahead - best.ahead) > (roundTrip + best.roundTrip) / 2 + DRIFT_MS
      if (roundTrip > best.roundTrip && !isOld && !wasSet) return
      best = { roundTrip, ahead, at: receivedAt }
    },
    toOurs: (theirs) => theirs - best.ahead,
  }
}
