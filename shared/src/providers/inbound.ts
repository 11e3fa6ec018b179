import type { ChannelNotice } from '../channel-notice.ts'
import type { JsonObject } from '../json-object.ts'
import type { WebhookMessage } from '../message.ts'
import type { MessageStatus } from '../message-status.ts'
import type { NamedPerson } from './address.ts'
import type { Settings } from './setting.ts'

/** The side of a provider that messages come from: its requests to a channel's webhook, and what is read of them later. */
export interface Inbound {
  /** The source of its messages, as it is stored with each. */
  source: string
  /** True when a GET to the address is the provider's; undefined where it makes none. */
  handshake?(query: Readonly<Record<string, unknown>>, settings: Settings): Handshake
  /** The proof that a request is the provider's. */
  proof(headers: Readonly<Record<string, string | string[] | undefined>>, settings: Settings): Proof
  /** The setting that names a channel as the receiver of an update, where one address gets what is for several. */
  receiver?: string
  /** The updates of a payload, in order. It never throws, whatever the payload is. */
  updates(payload: Readonly<Record<string, unknown>>, reading: Reading): Update[]
  /** Texts for people of errors that are noted, by their code. */
  errors: Readonly<Record<string, string>>
  /** The error that is noted where something came that is for another channel. */
  foreign: string
  /** The choices of people in a notice of the provider's, where they have told it what they want to get. */
  preferencesIn?(notice: Pick<ChannelNotice, 'field' | 'value'>): Preference[]
  /** The content of a stored message of the provider's. */
  contentOf(message: Readonly<Record<string, unknown>>): ReceivedContent
  documentation: InboundDocumentation
}

/** Two secrets that have to be one. The errors are noted where they are not, and where the channel has none. */
interface Secrets {
  given: string | undefined
  expected: string | undefined
  errors: { wrong: string; notConfigured: string }
}

/** The response to a provider that asks whether the address is the channel's; none where it asks for nothing. */
interface Handshake extends Secrets {
  response: string | undefined
}

/** A text that only the provider knows, or a code that it made of the raw body with one. */
export type Proof =
  | ({ kind: 'text' } & Secrets)
  | ({ kind: 'hmac'; hash: 'sha1' | 'sha256'; encoding: 'hex' | 'base64' } & Secrets)

export interface Reading {
  /** True when the store can have a value as it is. */
  isStorable(value: unknown): boolean
}

/** One thing in a payload. */
export type Update = {
  /** Where it stands in the payload, as a JSON Pointer. */
  path: string
  raw: unknown
  /** Which channel it is for, by the value of {@link Inbound.receiver}; that of the address where it names none. */
  receiver?: string | undefined
} & UpdateFate

/** The kind of an update, and its fate. */
export type UpdateFate =
  /** The message's thread is that of the person, where one is named; it has the message's own name where that is new. */
  | { kind: 'message'; fate: 'accepted'; id: string; person: NamedPerson | undefined; message: PersonMessage }
  | { kind: 'status'; fate: 'accepted'; person: NamedPerson | undefined; status: ReportedStatus }
  /** Something that happened to the channel at the provider. */
  | { kind: 'notice'; fate: 'kept'; notice: ReportedNotice }
  /** Nothing is done with it, for a reason that the provider's documentation has. */
  | { kind: 'notice'; fate: 'counted' }
  /** It can't be read; what is `unknown` is a part of the payload that should have contained updates. */
  | { kind: 'message' | 'status' | 'unknown'; fate: 'malformed' }

/** A person's message, in any form, as it is stored. */
export type PersonMessage = Pick<WebhookMessage, 'user' | 'thread' | 'answer' | 'input'> & JsonObject

/** The provider's report of one send; undefined is not there. */
export type ReportedStatus = Partial<Omit<MessageStatus, 'workspace' | 'channel'>>

/** The provider's report of a channel, with what makes it the same one when it comes again. */
type ReportedNotice = Omit<ChannelNotice, 'workspace' | 'channel'> & { identity: string }

/** A person's choice at the provider of getting marketing messages of the business, or none. */
export interface Preference {
  person: NamedPerson
  status: 'granted' | 'withdrawn'
  /** By the provider's clock. */
  at?: Date
}

export const MEDIA_TYPES = ['audio', 'image', 'video', 'document', 'sticker'] as const
export type MediaType = (typeof MEDIA_TYPES)[number]

/** A message's content beside what its person wrote. */
export interface ReceivedContent {
  /** Its type in the provider's words; undefined for a text alone. */
  type?: string
  media?: ReceivedMedia
  /** The text that a model reads of it beside what the person wrote, without limit of length; empty where there is nothing. */
  text: string
  /** Its nature; speech where nothing is said. */
  nature?: Nature
  /** The payload of a button that was pressed, beside the text on it. */
  pressed?: string
  /** The provider's id of it. */
  providerId?: string
  /** The provider's id of the message that it replies or reacts to. */
  repliesTo?: string
  /** It was written in a group, whose thread has several people. */
  isOfGroup?: true
  /** It was written by the business, in the provider's own app. */
  isOwn?: true
  /** When it was written, by the provider's clock. */
  writtenAt?: Date
  /** It was written before the channel was connected. */
  isPast?: true
}

/** The nature of a message. Only speech asks a handler, opens the service window and counts as unread. */
export type Nature =
  | { kind: 'speech' }
  /** An emoji at an earlier message; none takes it back. It is speech where its channel says so. */
  | { kind: 'reaction' }
  /** An earlier message, by the provider's id, has another text. */
  | { kind: 'edit'; of: string; text: string }
  /** An earlier message is taken back. */
  | { kind: 'deletion'; of: string }
  /** The business's name for somebody; undefined where it has none any more. */
  | { kind: 'contact'; name: string | undefined }
  /** Something that nobody said, as people read it. */
  | { kind: 'notice'; shown: string }

/** Media that the provider has the bytes of, or what has no bytes and is in the message itself. */
export type ReceivedMedia =
  | { kind: 'media'; type: MediaType; mediaId: string; fileName?: string }
  | { kind: 'content'; type: string; content: unknown }

/** The API's description of a provider's webhook. */
export interface InboundDocumentation {
  /** The name in its operations and schemas. */
  name: string
  /** The field of a message with all that the provider sent. */
  original: { field: string; description: string }
  handshake?: {
    id: string
    summary: string
    query: readonly DocumentedParameter[]
    response: string
    example: string
  }
  receive: {
    summary: string
    description: string
    /** Of the proof. */
    header: DocumentedParameter
    /** JSON Schema: what the body is, and the members of it that are known. */
    payload: { description: string; properties: Readonly<Record<string, unknown>> }
    example: Readonly<Record<string, unknown>>
  }
}

interface DocumentedParameter {
  name: string
  description: string
  example: string
}
