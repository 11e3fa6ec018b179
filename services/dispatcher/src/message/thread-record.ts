import { z } from 'zod'

const position = z.tuple([z.string(), z.string()])
/** The one who answers messages that come in on a thread. */
type ThreadHandler = 'assistant' | 'person'

/** How a person came to have a thread. */
export interface HandedOff {
  at: Date
  /** The one who gave it: its assistant, or the person who took it. */
  by: ThreadHandler
  /** The assistant's text, at most 1,024 characters. */
  reason?: string
}

export interface UnreadFor {
  why: 'unanswered' | (typeof UNREAD_REASONS)[number]
  /** The message, and when it was received. */
  message: string
  at: Date
  /** Why it was not answered, at most 1,024 characters. */
  reason?: string
}

/** Out of the way: for good, or until a time; either way until the person writes again. */
interface Closed {
  status: 'resolved' | 'snoozed'
  /** Messages of the person until this time were known: a later one opens it. */
  upTo: Date
  /** Of one that is snoozed: it is open again from then on. */
  until?: Date
}

export const MOST_LABELS = 20

/** Whose work a thread is: a user or a team of the workspace. */
interface Assigned {
  _id: number
  name: string
  /** When somebody said so, and which user. */
  at: Date
  by: number
}

/** A person's thread on a channel, as lists of threads have it. It is written behind its messages, all but who has it. */
export interface ThreadRecord {
  /** As {@link threadId} makes it. */
  _id: string
  /** Missing on the mark of a thread that was erased. */
  workspace: number
  /** The external id of its channel. */
  channel: string
  extId: string
  user: ThreadUser
  /** The name that the business gives the person in the provider's own app. */
  contactName?: string
  /** The words of that name, which stay among those it is searched by. */
  contactWords?: string[]
  /** The authority on who has the thread: nothing else says it. */
  handler: ThreadHandler
  /** Until when a person has it, where that ends by itself: then its assistant has it again. */
  handlerUntil?: Date
  /** By the write that last gave it to a person. */
  handedOff?: HandedOff
  /** When its document was made; after it was erased, when that was. */
  openedAt?: Date
  /** The beginning of what was said last, by whomever. */
  lastMessage: string
  lastAt: Date
  /** Messages of the person that a person is to read; at most 1,000 are counted. */
  unread: number
  /** Messages received until this time were read. */
  readAt?: Date
  /** When the last of the unread messages was received. */
  lastUnreadAt?: Date
  /** Why it is to be read: the last of the unread messages that says more than that a person has the thread. */
  unreadFor?: UnreadFor
  /** When the person's last message was received. */
  lastInboundAt?: Date
  assignee?: Assigned
  team?: Assigned
  /** The labels that the team sorts it by. */
  labels?: string[]
  /** When a note was written or deleted last. */
  notedAt?: Date
  /** Missing or null while it is open. */
  closed?: Closed | null
  /** The addresses that the person is written to or known by. */
  addresses?: string[]
  /** The ends of the phone numbers among them, as parts of them are searched by. */
  phoneEnds?: string[]
  /** Of earlier versions: the digits of the phone number, in the place of addresses. */
  phone?: string
  /** Names of threads of the same person that go on in this one, whose messages are read with it. */
  joined?: string[]
  /** Of what is left of a thread that goes on in another one: the name of that. */
  joinedInto?: string
  /** The campaign that wrote to the person last: what they write from then on may be a reply to it. */
  campaign?: ThreadCampaign
  /** The words of the person's name, as they are searched by. */
  words?: string[]
  /** Of what was said in it earlier than what models are given of it. */
  summary?: ThreadSummary
  /** It ends with the retention of its messages. */
  expiresAt: Date
}

/** A campaign that wrote in a thread. */
export interface ThreadCampaign {
  _id: string
  /** Whom of its recipients it wrote to. */
  recipient: string
  at: Date
}

/** A model's summary of the beginning of a conversation. */
export interface ThreadSummary {
  text: string
  /** The last message that is in it: when it was received, and its place among those of its partition. */
  until: Date
  order: number
}

export interface ThreadUser {
  name?: string
  /** The name that the person uses at the provider. Others may take it over. */
  username?: string
  phone?: string
  email?: string
}

/** A note that somebody of the team has made in a thread. */
export interface NoteRecord {
  _id: string
  workspace: number
  channel: string
  /** The name of the thread that it was written in. */
  thread: string
  at: Date
  by: { _id: number; name: string }
  text: string
  expiresAt: Date
}

/** Returns the present handler of a thread (milliseconds since the epoch). */
export function handlerOf(
  { handler, handlerUntil }: Pick<ThreadRecord, 'handler' | 'handlerUntil'>,
  now: number,
): ThreadHandler {
  return handlerUntil !== undefined && handlerUntil.getTime() <= now ? 'assistant' : handler
}

/** Returns the present status of a thread (milliseconds since the epoch): open, or out of the way. */
export function statusOf({ closed }: Pick<ThreadRecord, 'closed'>, now: number): 'open' | Closed['status'] {
  if (!closed || (closed.until !== undefined && closed.until.getTime() <= now)) return 'open'
  return closed.status
}

/** A thread of a channel; the same `extId` on another channel is another thread. */
export interface ThreadName {
  workspace: number
  channel: string
  extId: string
}

/** Which threads' messages are read as those of one: its own name, and those of the threads that joined it. */
export const ofThread = ({
  extId,
  joined = [],
}: {
  extId: string
  joined?: readonly string[] | undefined
}) => (joined.length === 0 ? extId : { $in: [extId, ...joined] })

/** The database's id of a thread. */
export function threadId({ workspace, channel, extId }: ThreadName): string {
  return `${workspace}/${JSON.stringify([extId, channel])}`
}

/** The ids of the threads with this `extId` on all channels lie between these. */
export function threadIdRange({ workspace, extId }: Omit<ThreadName, 'channel'>): {
  $gt: string
  $lt: string
} {
  const begin = `${workspace}/[${JSON.stringify(extId)}`
  return { $gt: `${begin},`, $lt: `${begin}-` }
}

/** The reasons for which a message ends that a person is to read. */
export const UNREAD_REASONS = ['handler_is_person', 'handed_off'] as const

/** The opaque id of a thread in the API: base64url over its channel and its `extId`. */
export function publicId({ channel, extId }: Omit<ThreadName, 'workspace'>): string {
  return Buffer.from(JSON.stringify([channel, extId])).toString('base64url')
}

/** Channel and `extId` of what {@link publicId} made; undefined for any other text. */
export function nameIn(id: string): Omit<ThreadName, 'workspace'> | undefined {
  try {
    const { data } = position.safeParse(JSON.parse(Buffer.from(id, 'base64url').toString()))
    if (data === undefined) return undefined
    const [channel, extId] = data
    return publicId({ channel, extId }) === id ? { channel, extId } : undefined
  } catch {
    return undefined
  }
}
