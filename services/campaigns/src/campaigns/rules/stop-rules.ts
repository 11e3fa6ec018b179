/** Why a campaign stops by itself. */
export const STOP_REASONS = [
  'channel_missing',
  'template_disabled',
  'template_paused',
  'template_changed',
  'category_changed',
  'account_restricted',
  'quality_low',
  'refusals',
  'opt_outs',
] as const
export type StopReason = (typeof STOP_REASONS)[number]

/** The facts that are known when the next send is decided. */
export interface StopFacts {
  hasChannel: boolean
  /** The present state of the template, as far as it is known; `shape` describes its parameters. */
  template:
    | {
        status?: string | undefined
        quality?: string | undefined
        shape?: string | undefined
        category?: string | undefined
      }
    | undefined
  /** The template's shape when the campaign was scheduled. */
  shape: string | undefined
  /** The template's category when somebody has agreed to it last, which decides on consent and price. */
  category: string | undefined
  isQualityLow: boolean
  isRestricted: boolean
  /** The stop reasons that follow from refusals among the latest messages, for every later send. */
  causes: readonly StopReason[]
  /** How many of the latest `limits.of` messages were refused, and how many people opted out after theirs. */
  refusals: number
  optOuts: number
  limits: { share: number; of: number }
}

/** A template that is not one of these is not sent. */
const SENDABLE = ['APPROVED', 'ACTIVE', 'REINSTATED', 'FLAGGED']
const DISABLED = ['DISABLED', 'REJECTED', 'DELETED', 'PENDING_DELETION', 'ARCHIVED']
const LOW = ['RED', 'LOW']

/** True if both values are known and differ; an unknown value is no other one. */
const isOther = (before: string | undefined, now: string | undefined): boolean =>
  before !== undefined && now !== undefined && before !== now

/** Why no more is sent; undefined while nothing speaks against it. The first that applies counts. */
export function stopReason(facts: StopFacts): StopReason | undefined {
  const { template, limits } = facts
  const status = template?.status?.toUpperCase()
  const isOver = (count: number) => count > limits.share * limits.of
  const applies: Record<StopReason, boolean> = {
    channel_missing: !facts.hasChannel,
    template_disabled: status !== undefined && DISABLED.includes(status),
    template_paused: status !== undefined && !DISABLED.includes(status) && !SENDABLE.includes(status),
    template_changed: isOther(facts.shape, template?.shape),
    category_changed: isOther(facts.category, template?.category),
    account_restricted: facts.isRestricted,
    quality_low: facts.isQualityLow || LOW.includes(template?.quality?.toUpperCase() ?? ''),
    refusals: isOver(facts.refusals),
    opt_outs: isOver(facts.optOuts),
  }
  return STOP_REASONS.find((reason) => applies[reason] || facts.causes.includes(reason))
}
