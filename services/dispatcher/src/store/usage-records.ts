import type { MessageRecord, SendPricing } from '../message/message-record.ts'

/** The dimensions that calls of models are added up by. */
export interface UsageDimensions {
  workspace: number
  /** The external id of the channel; null for what an assistant was tried with. */
  channel: string | null
  assistant: number
  provider: string
  model: string
}

/** The sums of an hour's use. */
interface UsageSums {
  /** Messages that a model was asked for, each in the entry of its first call. */
  messages: number
  /** The same of each model: a message that two models were asked for counts with both. */
  modelMessages: number
  turns: number
  inputTokens: number
  outputTokens: number
  /** Of the input those that providers had in their caches. */
  cachedTokens: number
  /** In milliseconds. */
  modelMs: number
  errors: number
}

/** The price category of a message at its provider; only in the entry of a message that the provider priced. */
interface PricingDimensions {
  category?: string
  type?: string | null
}

type Dimensions = Omit<UsageDimensions, 'assistant'> & { assistant: number | null } & PricingDimensions

/**
 * One call of a model, a message that is counted, or one that a provider has priced: its id says which, so that nothing
 * counts twice.
 */
export interface UsageEntry extends Dimensions, UsageSums {
  _id: string
  at: Date
}

/** The sums of the entries of an hour (UTC). */
export interface UsageHour extends Dimensions, UsageSums {
  _id: Dimensions & { at: Date }
  /** When the hour begins. */
  at: Date
}

/** How many tokens have been used in a day (UTC): on a channel, by a person, of the deployment's key, in trials. */
export interface UsedTokens {
  _id: string
  /** Used, or reserved by calls under way. */
  tokens: number
  /** The reserved part of it, until `pendingUntil`; after that nobody gives it back. */
  pending?: number
  pendingUntil?: Date
  /** The tokens that the last write gave to each request. */
  granted?: number[]
  /** Of a person: the message whose answer told first that a budget stops them. */
  reportedBy?: string
  expiresAt: Date
}

/** How far entries are added up. */
export interface UsageState {
  _id: string
  owner?: string
  expiresAt?: Date
  /** Entries before then are in hours. */
  addedUpTo?: Date
}

const NONE: UsageSums = {
  messages: 0,
  modelMessages: 0,
  turns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  modelMs: 0,
  errors: 0,
}
const DIMENSIONS = ['workspace', 'channel', 'assistant', 'provider', 'model', 'category', 'type'] as const

export const usageEntry = (
  _id: string,
  of: UsageDimensions & { at: Date },
  sums: Partial<UsageSums>,
): UsageEntry => ({ _id, ...of, ...NONE, ...sums })

/** A message that its provider has priced: each attempt that it took counts once. */
export const pricingEntry = (
  { workspace, channel }: Pick<MessageRecord, 'workspace' | 'channel'>,
  { pricing: { providerId, category, type, model }, at }: { pricing: SendPricing; at: Date },
): UsageEntry => ({
  _id: `${workspace}/priced/${providerId}`,
  ...{ workspace, channel, assistant: null, provider: '', model: model ?? '', category, type, at },
  ...NONE,
  messages: 1,
})

/** The sums of a group of entries or hours, for the database. */
export const SUMS = Object.fromEntries(Object.keys(NONE).map((field) => [field, { $sum: `$${field}` }]))
/** The group key of entries, for the database. */
export const GROUP = Object.fromEntries(DIMENSIONS.map((field) => [field, `$${field}`]))

/** The day (UTC) as its date. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)
