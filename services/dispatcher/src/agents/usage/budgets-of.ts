import { hash } from 'node:crypto'
import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { addressesOf, phoneDigits } from '../../message/addresses.ts'

const KEY_CHARACTERS = 22
/** The share of the common budget that one person may use. */
const SHARE_OF_PERSON = 1 / 4

/** How many tokens may be used in a day, of something. */
export interface Budget {
  /** Of its count, which is that of the day. */
  id: string
  limit: number
  /** The setting that it comes from. */
  setting: string
  /** Another count that is in it. */
  including?: string
}

/** The user of a model, for budgets. */
export interface Spender {
  workspace: number
  /** The external id of the channel; null for what an assistant was tried with. */
  channel: string | null
  assistant: number
  /** Of the channel. */
  config: JsonObject
  /** As {@link personOf}; undefined where nobody wrote. */
  person?: string | undefined
  /** True if the deployment's own key is used. */
  isDeployments: boolean
}

/**
 * The budgets that a call of a model counts against, the narrowest first: those of the person and of the channel, where
 * its config sets them, and where the deployment pays those of the person and of the workspace.
 */
export function budgetsOf(
  { workspace, channel, assistant, config, person, isDeployments }: Spender,
  { day, tokensPerDay }: { day: string; tokensPerDay: number },
): Budget[] {
  const budgets: Budget[] = []
  const of = { workspace, day, channel }
  if (channel !== null) {
    const ofChannel = numberIn(config.dailyTokens)
    const ofPerson = numberIn(config.dailyTokensPerPerson) ?? shareOf(ofChannel)
    if (person !== undefined && ofPerson !== undefined)
      budgets.push({ id: countId({ ...of, person }), limit: ofPerson, setting: 'dailyTokensPerPerson' })
    if (ofChannel !== undefined)
      budgets.push({
        ...{ id: countId(of), limit: ofChannel, setting: 'dailyTokens' },
        // Tokens for trials of its assistant.
        including: countId({ ...of, channel: assistant }),
      })
  }
  if (isDeployments) {
    const ofKey = { ...of, channel: null }
    const limit = Math.floor(tokensPerDay * SHARE_OF_PERSON)
    if (person !== undefined)
      budgets.push({
        ...{ id: countId({ ...ofKey, person }), limit },
        setting: 'a quarter of MODEL_TOKENS_PER_DAY for one person',
      })
    budgets.push({ id: countId(ofKey), limit: tokensPerDay, setting: 'MODEL_TOKENS_PER_DAY' })
  }
  return budgets
}

/** The count of a channel by its external id, of what an assistant was tried with by its id, of the deployment's key by null. */
export function countId(of: {
  workspace: number
  day: string
  channel: string | number | null
  person?: string
}): string {
  const { workspace, day, channel, person } = of
  return JSON.stringify([workspace, day, channel, ...(person === undefined ? [] : [person])])
}

/**
 * Whom what a message uses counts for: the phone number, whatever its form, or else another address. A thread can be named
 * by who posts the message, so it is the person only where there is no address. Nobody can be read from it.
 */
export function personOf({ user }: Pick<WebhookMessage, 'user'>, thread: string): string {
  const [phone, email] = [user.phone, user.email].map((address) => address?.trim().toLowerCase() ?? '')
  const person = phoneDigits(phone) ?? (phone || email || addressesOf(user)[0] || `thread ${thread}`)
  return hash('sha256', person, 'base64url').slice(0, KEY_CHARACTERS)
}

/** Stored configs may hold anything. */
const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

const shareOf = (limit: number | undefined): number | undefined =>
  limit === undefined ? undefined : Math.floor(limit * SHARE_OF_PERSON)
