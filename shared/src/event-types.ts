import { CONFIGURATION_RESOURCES } from './configuration-resources.ts'

/** Events of a message. */
export const MESSAGE_EVENTS = [
  'message.received',
  'message.sent',
  'message.delivered',
  'message.read',
  'message.failed',
  'message.dead',
] as const
export type MessageEvent = (typeof MESSAGE_EVENTS)[number]

/** A thread begins, a person has it from then on, or a message of it ended without an answer. */
export const THREAD_EVENTS = ['thread.handed_off', 'thread.opened', 'thread.unanswered'] as const
export type ThreadEvent = (typeof THREAD_EVENTS)[number]

/** Something happened to a channel at its provider. */
export const CHANNEL_NOTICE = 'channel.notice'

export const TASK_EVENTS = ['task.started', 'task.step_completed', 'task.completed', 'task.failed'] as const
export type TaskEvent = (typeof TASK_EVENTS)[number]

/** A campaign, or what it rests on: somebody's consent, a template at its provider. */
export const CAMPAIGN_EVENTS = [
  'campaign.state_changed',
  'person.consent_changed',
  'template.status_changed',
] as const

const OPERATIONS = ['created', 'updated', 'deleted'] as const

/** Events that a subscription may name; resources are named as in the paths. */
export const EVENT_TYPES: readonly string[] = [
  ...MESSAGE_EVENTS,
  ...THREAD_EVENTS,
  CHANNEL_NOTICE,
  ...TASK_EVENTS,
  ...CAMPAIGN_EVENTS,
  ...CONFIGURATION_RESOURCES.flatMap((name) =>
    OPERATIONS.map((operation) => `configuration.${name}.${operation}`),
  ),
]

/** Goes to every other subscription of the workspace, whatever it names: one was turned off. */
export const SUBSCRIPTION_DISABLED = 'subscription.disabled'
/** The event that `POST /rest/subscriptions/{id}/test` sends. */
export const SUBSCRIPTION_TEST = 'subscription.test'
