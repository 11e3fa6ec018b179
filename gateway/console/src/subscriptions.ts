import { t } from './language.ts'
import { wordOf } from './words.ts'
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

const EVENTS: Readonly<Record<string, string>> = {
  ...{ opened: t('opened'), handed_off: t('handed off'), unanswered: t('unanswered') },
  ...{ started: t('started'), step_completed: t('step completed'), notice: t('notice') },
  ...{ state_changed: t('state changed'), consent_changed: t('consent changed') },
  ...{ status_changed: t('status changed') },
}

const CHANGES: Readonly<Record<string, (kind: string) => string>> = {
  created: (kind) => t('{kind} created', { kind }),
  updated: (kind) => t('{kind} updated', { kind }),
  deleted: (kind) => t('{kind} deleted', { kind }),
}

/** Returns the subject of an event in words; of an event of the configuration, with the kind of the document. */
export function eventInWords(event: string): string {
  const [, what = '', change = ''] = event.split('.')
  const isOf = CHANGES[change]
  return isOf === undefined ? (EVENTS[what] ?? wordOf(what)) : isOf(kindInWords(what))
}

/** A kind of documents. */
export const kindInWords = (kind: string): string => KINDS[kind] ?? wordOf(kind)

const KINDS: Readonly<Record<string, string>> = {
  ...{ channels: t('channels'), tasks: t('tasks'), steps: t('steps'), assistant: t('assistant') },
  ...{ configs: t('configs'), actions: t('actions'), jobs: t('jobs'), workflows: t('workflows') },
  ...{ subscriptions: t('subscriptions'), replies: t('replies') },
}
