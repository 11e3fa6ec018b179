import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { StatusBehaviour } from './status-poster.ts'

const MAX_NUMBERS = 10_000
const MAX_RULES = 20
const MAX_PEOPLE = 1_000
const UNIT = 2 ** 32

const count = z.int().min(1).max(1_000_000)
const milliseconds = z.int().min(0).max(120_000)
const refusal = {
  status: z.int().min(400).max(599),
  code: z.int().min(0).max(999_999),
  subcode: z.int().min(0).max(99_999_999).optional(),
  retryAfterSeconds: z.int().min(0).max(86_400).optional(),
}
/** Which sends: those to `to` (digits), a `share` of them, until `forMs` have gone by; without any of these all. */
const which = {
  to: z
    .array(z.string().regex(/^\d{5,20}$/))
    .min(1)
    .max(MAX_PEOPLE)
    .optional(),
  share: z.number().min(0).max(1).optional(),
  forMs: z.int().min(1).max(86_400_000).optional(),
}

/**
 * How to misbehave, all of it together: sends fail, responses come late or never though the send was accepted, statuses
 * come twice, reversed, late, without what the send carried, or say that it failed. Shares are chosen by `seed` and the count of sends, so a run can be repeated.
 */
export const behaviour = z.strictObject({
  seed: z
    .int()
    .min(0)
    .max(2 ** 31)
    .default(1),
  failEvery: z.strictObject({ n: count, status: refusal.status, code: refusal.code }).optional(),
  /** The first that fits a send decides. */
  failures: z
    .array(z.strictObject({ ...refusal, ...which }))
    .max(MAX_RULES)
    .default([]),
  stallMs: milliseconds.optional(),
  stalls: z
    .array(z.strictObject({ ms: milliseconds, ...which }))
    .max(MAX_RULES)
    .default([]),
  dropAnswerEvery: count.optional(),
  dropAnswers: z.array(z.strictObject(which)).max(MAX_RULES).default([]),
  /** The statuses say that the send failed, with this code. */
  undeliverable: z
    .array(z.strictObject({ code: refusal.code, ...which }))
    .max(MAX_RULES)
    .default([]),
  reads: z.boolean().optional(),
  repeats: z.boolean().optional(),
  reorders: z.boolean().optional(),
  /** Statuses do not say what the send carried. */
  unnamed: z.boolean().optional(),
  /** Statuses come so much later. */
  statusDelayMs: milliseconds.optional(),
  /** Only registered templates are taken. */
  strictTemplates: z.boolean().default(false),
  /** Only templates are taken later than 24 hours after the person's last message. */
  customerWindow: z.boolean().default(false),
  /** How many the number may send; 20 where the WhatsApp Business app has it, too. */
  messagesPerSecond: z.union([z.literal(20), z.literal(80), z.literal(1_000)]).default(80),
  quality: z.enum(['GREEN', 'YELLOW', 'RED']).default('GREEN'),
  /** How many people its portfolio may write to first in a day. */
  messagingLimit: z
    .enum(['TIER_50', 'TIER_250', 'TIER_2K', 'TIER_10K', 'TIER_100K', 'TIER_UNLIMITED'])
    .default('TIER_100K'),
  /** Of an account, by its id: which portfolio owns it. Each has its own where this is left out. */
  portfolio: z.string().min(1).max(64).optional(),
})

type Behaviour = z.output<typeof behaviour>
type Which = Pick<Behaviour['dropAnswers'][number], 'to' | 'share' | 'forMs'>

export interface SendFailure {
  status: number
  code: number
  subcode?: number | undefined
  retryAfterSeconds?: number | undefined
}

/** The fate of one send. */
interface Turn {
  failure: SendFailure | undefined
  stallMs: number
  dropsResponse: boolean
  statuses: StatusBehaviour
  strictTemplates: boolean
  customerWindow: boolean
  messagesPerSecond: number
}

export interface Behaviours {
  /** Replaces the behaviour of one phone number, or of all that have none of their own, and starts counting from 0. */
  set(behaviour: Behaviour, phoneNumberId?: string): void
  /** The settings for a phone number or an account. */
  of(id: string): Pick<Behaviour, 'messagesPerSecond' | 'quality' | 'messagingLimit' | 'portfolio'>
  /** The fate of the next send of a phone number. */
  next(phoneNumberId: string, to: string): Turn
}

interface Entry {
  behaviour: Behaviour
  since: number
  count: number
}

/** `now` is in milliseconds and never goes back. */
export function createBehaviours(now: () => number): Behaviours {
  const entryOf = (configured: Behaviour): Entry => ({ behaviour: configured, since: now(), count: 0 })
  let general = entryOf(behaviour.parse({}))
  const own = new LRUCache<string, Entry>({ max: MAX_NUMBERS })
  return {
    set(configured, phoneNumberId) {
      if (phoneNumberId === undefined) general = entryOf(configured)
      else own.set(phoneNumberId, entryOf(configured))
    },
    of: (id) => (own.get(id) ?? general).behaviour,
    next(phoneNumberId, to) {
      const entry = own.get(phoneNumberId) ?? general
      entry.count++
      return turnOf(entry, { to, elapsed: now() - entry.since })
    },
  }
}

function turnOf({ behaviour: configured, count: turn }: Entry, send: { to: string; elapsed: number }): Turn {
  const isTurn = (every: number | undefined) => every !== undefined && turn % every === 0
  // Each kind has draws of its own: a share of what fails must not be the share that stalls.
  const chosen = (kind: number, { to, share, forMs }: Which, rule: number) =>
    (to === undefined || to.includes(send.to)) &&
    (forMs === undefined || send.elapsed < forMs) &&
    (share === undefined || chance(configured.seed * 97 + kind * MAX_RULES + rule, turn) < share)
  const failing = configured.failures.find((rule, index) => chosen(0, rule, index))
  const stall = configured.stalls.find((rule, index) => chosen(1, rule, index))
  const failed = configured.undeliverable.find((rule, index) => chosen(3, rule, index))
  return {
    failure: isTurn(configured.failEvery?.n) ? configured.failEvery : failing,
    stallMs: Math.max(configured.stallMs ?? 0, stall?.ms ?? 0),
    dropsResponse:
      isTurn(configured.dropAnswerEvery) ||
      configured.dropAnswers.some((rule, index) => chosen(2, rule, index)),
    statuses: {
      reads: configured.reads,
      repeats: configured.repeats,
      reorders: configured.reorders,
      unnamed: configured.unnamed,
      delayMs: configured.statusDelayMs,
      failedWith: failed?.code,
    },
    strictTemplates: configured.strictTemplates,
    customerWindow: configured.customerWindow,
    messagesPerSecond: configured.messagesPerSecond,
  }
}

/** A number from 0 to 1, always the same for the same seed and turn, evenly spread over the turns. */
export function chance(seed: number, turn: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(turn + 1, 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / UNIT
}
