import type { SegmentFilter } from '../../segments/segment-filter.ts'
import type { CampaignBudget } from '../rules/budget.ts'
import type { CampaignState } from '../rules/campaign-state.ts'
import type { SendTime } from '../rules/due-time.ts'
import { STOP_REASONS } from '../rules/stop-rules.ts'
import type { CampaignVariables } from '../rules/variables.ts'

/** Whom a campaign is for. */
type Audience =
  | { segment: string }
  | { filter: SegmentFilter }
  | { import: string }
  | { people: readonly string[] }
  | { everybody: true }

/** The definition of a campaign: its message, its audience, its time and its limits. */
export interface CampaignDefinition {
  template: { name: string; language: string }
  variables: CampaignVariables
  /** The other parts that the template is given: header, buttons, cards. */
  more?: Readonly<Record<string, unknown>> | undefined
  audience: Audience
  schedule: SendTime & { endsAt?: string | undefined }
  messagesPerSecond?: number | undefined
  frequencyCap?: { messages: number; days: number } | undefined
  requiresConsent: boolean
  budget?: CampaignBudget | undefined
  holdoutPercent: number
  stopAt: { share: number; of: number }
}

/** The condition that a running campaign waits for. */
export interface CampaignWait {
  for: 'time' | 'people_limit' | 'in_flight' | 'configuration' | 'webhook' | 'budget'
  until?: Date
}

/** Why a campaign is paused: it stopped by itself, also where its audience is never found in time, or a person paused it. */
export const PAUSE_REASONS = [...STOP_REASONS, 'audience_slow', 'person'] as const
type PauseReason = (typeof PAUSE_REASONS)[number]

/** A campaign as it is stored. */
export interface CampaignRecord {
  _id: string
  workspace: number
  name: string
  /** The `_id` of its channel. */
  channel: number
  state: CampaignState
  definition: CampaignDefinition
  /** Counts changes; every change names the revision that it is based on. */
  revision: number
  createdAt: Date
  updatedAt: Date
  createdBy?: string
  /** There is something to do for it: it begins, sends, or what became of its messages is read. */
  active?: true
  /** When it is taken up first: with each person's own time, when that comes first anywhere. */
  beginsAt?: Date
  startedAt?: Date
  /** Since when what happens at the provider counts, and refusals do. */
  since?: Date
  endedAt?: Date
  /** Why it is paused, and since when; `by` is who did it, where it did not stop by itself. */
  paused?: { reason: PauseReason; at: Date; by?: string }
  /** As JSON: the rule by which who started it may read people; nobody else is of its audience. */
  peopleRule?: string
  /** The filter of the segment that its audience is, as it was when it was scheduled. */
  segmentFilter?: SegmentFilter
  /** How far its audience is listed. */
  listed?: { after?: string; isDone: boolean }
  /** The parameters of its template when it was scheduled. */
  shape?: string
  /** The categories of its template since then, the latest at the end; somebody has agreed to each. */
  categories?: string[]
  waiting?: CampaignWait
  /** Until when replies have been looked for. */
  repliesUntil?: Date
}
