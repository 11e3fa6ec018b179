import type { JsonObject } from '@parley/shared/json-object'
import type { ObjectPreview } from '@parley/shared/providers/outbound'
import { isJsonObject, own } from '@parley/shared/providers/own'
import { allProviders } from '@parley/shared/providers/registry'
import { t } from './language.ts'

/** Users to whom a conversation can be assigned together. */
export interface Team {
  _id: number
  name: string
  members: number[]
}

/** A person or a team whose work something is: since when, and who said so. */
interface Assigned {
  _id: number
  name: string
  at: string
  by: number
}

/** A person's conversation on a channel. */
export interface Thread {
  _id: string
  extId: string
  channel: string
  user: { name?: string; phone?: string; email?: string }
  /** The addresses that the person is written to or known by, such as `phone:4930901820`. */
  addresses?: string[]
  handler: 'assistant' | 'person'
  status: 'open' | 'resolved' | 'snoozed'
  snoozedUntil?: string
  assignee?: Assigned
  team?: Assigned
  labels?: string[]
  /** Until when a person has it, where that ends by itself. */
  handlerUntil?: string
  lastMessage: string
  lastAt: string
  unread: number
  /** When the last one that was to be read was received. */
  lastUnreadAt?: string
  /** Why, while there is something to read. */
  unreadFor?: { why: 'unanswered' | 'handed_off' | 'handler_is_person'; reason: string | null; at: string }
  /** The campaign that wrote to the person last. */
  campaign?: { _id: string; at: string }
  /** The message that a search found it by, and what that says. */
  found?: { message: string; at: string; text: string }
  /** Until when free text goes out; null where that is not known. */
  serviceWindowEndsAt: string | null
  task?: { _id: number; name: string; status: string; workflow: number; currentStep: number } | null
}

/** Something that was said in a conversation. */
export interface Said {
  _id: string
  /** The message that it belongs to. */
  message: string
  at: string
  from: 'person' | 'assistant' | 'team' | 'api' | 'provider'
  /** It was written in the app of the provider. */
  through?: 'app'
  /** The name of its writer, in the thread of a group. */
  name?: string
  /** The message that it replies or reacts to. */
  quoted?: { _id: string; from: 'person' | 'business'; text: string }
  /** The emoji of a reaction to what is quoted; empty where it takes one back. */
  reaction?: string
  edited?: true
  deleted?: true
  by?: { _id?: number; username?: string; name?: string }
  text?: string
  transcript?: string
  media?: string
  reason?: string
  template?: string
  language?: string
  variables?: string[]
  /** The other values that a template was given. */
  more?: JsonObject
  state: string
  /** The object that was sent in a provider's own form, under the provider's name. */
  [provider: string]: unknown
}

/** A note for the team, which nobody else sees. */
export interface Note {
  _id: string
  at: string
  by: { _id: number; name: string }
  text: string
}

export interface SaidPage {
  data: Said[]
  previous: string | null
  next: string | null
}

type SaidParts = Readonly<Record<string, unknown>>

/** Returns the object that was sent in a provider's own form; undefined where none was. */
export const objectIn = (said: SaidParts): JsonObject | undefined =>
  allProviders()
    .map(({ name }) => own(said, name))
    .find(isJsonObject)

/** The same as people are shown it. */
export function previewOf(said: SaidParts): ObjectPreview | undefined {
  for (const { name, outbound } of allProviders()) {
    const object = own(said, name)
    if (isJsonObject(object)) return outbound.objects?.preview(object)
  }
  return undefined
}

export const nameOf = ({ user, extId }: Pick<Thread, 'user' | 'extId'>): string =>
  user.name || user.phone || user.email || extId

/** Returns the numbers and ids of the person beside the name that is shown, each once. */
export function knownBy(thread: Pick<Thread, 'user' | 'extId' | 'addresses'>): string[] {
  const values = (thread.addresses ?? []).map((address) => address.slice(address.indexOf(':') + 1))
  const digitsOf = (text: string) => (/^[+\d\s()./-]+$/.test(text) ? text.replaceAll(/\D/g, '') : text)
  const all = new Map([thread.user.phone ?? '', ...values].map((text) => [digitsOf(text), text]))
  for (const shown of ['', digitsOf(nameOf(thread))]) all.delete(shown)
  return [...all.values()]
}

/** The first letters of a name, for a round mark. */
export function initialsOf(name: string): string {
  const words = name.match(/\p{L}+/gu) ?? []
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map((word) => word?.charAt(0) ?? '')
  return letters.join('').toUpperCase() || '#'
}

interface Viewer {
  own: number | undefined
  teams: readonly Team[]
}

/** To whom a conversation is assigned: a person before a team. Undefined for nobody, also where the team is gone. */
export function assignmentOf(
  { assignee, team }: Pick<Thread, 'assignee' | 'team'>,
  { own, teams }: Viewer,
): { isOwn: boolean; at: string; by: number } | undefined {
  if (assignee !== undefined) return { ...assignee, isOwn: assignee._id === own }
  const found = teams.find(({ _id }) => _id === team?._id)
  return found && team && { ...team, isOwn: own !== undefined && found.members.includes(own) }
}

const TEMPLATE = /^\[Template (\S+) \([^)]*\)((?: \| .*?)?)\]?$/s

/** The beginning of what was said last, as one reads it: a template by its name and what it was filled with. */
export function shownLast(lastMessage: string): string {
  const [, name, variables = ''] = TEMPLATE.exec(lastMessage) ?? []
  if (name === undefined) return lastMessage
  const filled = variables.split(' | ').filter(Boolean).join(', ')
  return filled === '' ? t('Template {name}', { name }) : t('Template {name}: {filled}', { name, filled })
}
