import { t } from './language.ts'
/** Where events are posted. */
export interface Subscription {
  _id: number
  name: string
  url: string
  events: string[]
  channel?: number | null
  active: boolean
  signingSecret?: string
  failing?: { since: string; reason: string }
  full?: { since: string; reason: string }
  disabled?: { at: string; reason: string }
  updatedAt: string
}

/** One event for one subscription, and what came of it. */
export interface Delivery {
  _id: string
  event: string
  record?: string
  state: 'pending' | 'delivered' | 'failed'
  due?: string
  reason?: string
  createdAt: string
  attempts: { at: string; ms: number; outcome: string; code?: string }[]
  /** As it is signed; left out where the role may not read all of what it is about. */
  payload?: unknown
}

/** Events by what they are about, for choosing. */
export function groupsOf(events: readonly string[]): { name: string; events: string[] }[] {
  const groups = Map.groupBy(events, (event) => event.split('.')[0] ?? '')
  return [...groups].map(([name, own]) => ({ name: NAMES[name] ?? name, events: own }))
}

const NAMES: Record<string, string> = {
  message: t('Messages'),
  thread: t('Conversations'),
  task: t('Tasks'),
  campaign: t('Campaigns'),
  person: t('People'),
  template: t('Templates'),
  configuration: t('Configuration'),
}
