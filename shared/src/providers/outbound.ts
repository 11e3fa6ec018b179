import type { JsonObject } from '../json-object.ts'
import type { Address, NamedPerson } from './address.ts'
import type { ProviderRequest, ProviderResponse, SendOutcome } from './http.ts'
import type { MediaType } from './inbound.ts'
import type { Settings } from './setting.ts'

/** The side of a provider that sends go to: requests as data, which whoever performs them brings the responses to. */
export interface Outbound {
  /** True when the provider reports later what became of a send. */
  reports: boolean
  /** True when a response's status is all that counts: then it may be larger than what is read of it. */
  isStatusEnough?: true
  /** The longest text that one send may have, in UTF-16 code units; longer ones are several sends. */
  maxText?: number
  /** How long after a person's last message free text is taken, in milliseconds; at any time where it is undefined. */
  serviceWindowMs?: number
  /** The instruction for a model of how to write. */
  markup: string
  /** A text that was written as Markdown in the provider's markup. What is in its markup already stays as it is. */
  toMarkup?(text: string): string
  /** Objects of the provider's own that a reply may carry; undefined where there are none. */
  objects?: ObjectRules
  /** The URL that a channel's sends go to; undefined where it has none. */
  urlOf(settings: Settings): string | undefined
  /** How many sends the provider allows; undefined where it allows any number. */
  rates?: Rates
  /** The request that makes one send, of settings that are complete; or why the provider has none for such a content. */
  request(send: ProviderSend): ProviderRequest | Refusal
  /** The meaning of its response. It never throws, whatever the response is. */
  outcomeOf(response: ProviderResponse): SendOutcome
  /** The meaning of an error that is reported after a send was taken, by its code. */
  outcomeOfCode?(code: number): Exclude<SendOutcome, { kind: 'accepted' | 'uncertain' }>
  /** The person that a response says a send went to: the provider may know the address as another one. */
  personOf?(response: ProviderResponse): NamedPerson | undefined
  /** The text of an error in a response, for people; undefined where it is not the provider's form. */
  errorTextOf?(response: ProviderResponse): string | undefined
  /** Advice about a send that was given up, by the code of its last attempt. */
  advice?: Readonly<Record<string, string>>
  /** The beginning of its ids of sends, so that people can look a message up by one. */
  idPrefix?: string
  typing?: Typing
  media?: MediaRequests
  /** The rules that tell by the provider's reports if more may be sent; undefined where it reports nothing of the kind. */
  standing?: StandingRules
  /** Things to look up of a channel at the provider, each a check of its own. */
  account?(settings: Settings, asked: { template?: string; language?: string }): AccountCheck[]
}

/** An outcome without a try. */
type Refusal = Extract<SendOutcome, { kind: 'permanent' }>

/** One send to one person. */
export interface ProviderSend {
  settings: Settings
  /** Undefined where the provider writes to whomever a message is for. */
  address: Address | undefined
  /** The send's id, the same on every attempt: what a status names it by, where the provider gives it back. */
  id: string
  content: ProviderContent
  /** The message that it belongs to. */
  message: {
    id: string
    channel: { _id: number; extId: string }
    user: Readonly<Record<string, unknown>>
    thread: Readonly<Record<string, unknown>>
  }
}

export type ProviderContent =
  | { kind: 'text'; text: string }
  | Template
  | { kind: 'object'; object: Readonly<Record<string, unknown>> }

/** `more` is what it was given beside, for a provider that composes no objects. */
interface Template {
  kind: 'template'
  template: string
  language: string
  variables: readonly string[]
  more?: Readonly<Record<string, unknown>>
}

/** How many sends a provider takes. */
export interface Rates {
  /** The key that a send counts against. */
  keyOf(settings: Settings): string | undefined
  /** How many a second, where the provider does not say it of the number. */
  perSecond: number
  /** To one person: one in each interval (milliseconds) after a burst of so many. */
  person?: { intervalMs: number; burst: number }
  /** The question for a number's rate at the provider itself. */
  lookup?: {
    /** How many a second until the provider has answered: the least that it gives any number. */
    least: number
    request(settings: Settings): ProviderRequest
    /** How many a second; undefined where the response does not say it. */
    read(response: ProviderResponse): number | undefined
  }
}

/** The changes by a notice to what may be sent. */
export interface Standing {
  template?: { name: string; language: string; status?: string | undefined; quality?: string | undefined }
  isQualityLow?: boolean
  isRestricted?: boolean
  /** How many people may be written to first in 24 hours, by all that the account's owner has; null for any number. */
  peopleADay?: number | null
}

/** Why whoever sends to many stops, whatever they send next. */
type StandingCause = 'template_paused' | 'template_disabled' | 'account_restricted'

export interface StandingRules {
  /** Returns the effect of a refusal on later sends; undefined where it concerns one send alone. */
  ofCode(code: string): StandingCause | undefined
  /** Returns the change that a notice reports, by its subject and its whole value. */
  ofNotice(field: string, value: unknown): Standing | undefined
  /** Returns the facts about the number in the response to the request for its rate. */
  ofNumber(found: unknown): Pick<Standing, 'isQualityLow' | 'peopleADay'>
  /** The question whose limit of people it is, where accounts share one: whoever owns the account. */
  owner?: {
    /** Undefined where the channel does not name its account. */
    request(settings: Settings): ProviderRequest | undefined
    read(found: unknown): string | undefined
  }
}

/** An error in something that was given, by its path in it. */
export interface Wrong {
  path: string[]
  message: string
}

/** The result of composing arguments in our form. */
export type Composed =
  | { kind: 'composed'; object: JsonObject }
  /** Arguments that the provider does not take, or that are not understood. */
  | { kind: 'refused'; errors: Wrong[] }

export interface ObjectRules {
  types: readonly string[]
  /** Those that are taken at any time. */
  templates: readonly string[]
  /** Errors of an object of a known type, by the path of each. */
  errorsOf(object: Readonly<Record<string, unknown>>): Wrong[]
  /**
   * The object of what a call of `callback` says: a template with all that it takes, or buttons, a list, media or a place
   * (`docs/handlers.md` has the form).
   */
  compose(args: JsonObject): Composed
  /** The bounds, told to a model, of what it may say beside a text. */
  limits: string
  description: string
  /** The object that sends media. */
  ofMedia(media: SentMedia): JsonObject
  /** The media that an object sends, where the provider has them itself. */
  mediaIn(object: Readonly<Record<string, unknown>>): StoredMedia | undefined
  /** The object that sends a text, which is in the provider's markup already. */
  ofText(text: string): JsonObject
  /** The object that reacts to a message once it quotes that; without an emoji it takes the reaction back. Undefined where there is none. */
  ofReaction?(emoji: string): JsonObject
  /** The emoji of an object that reacts, empty where it takes the reaction back; undefined of any other. */
  reactionIn?(object: Readonly<Record<string, unknown>>): string | undefined
  /** The object as a reply or a reaction to a message, by the provider's id of that. */
  quoting(object: Readonly<Record<string, unknown>>, providerId: string): JsonObject
  /** Returns the provider's id of the message that an object replies or reacts to. */
  quotedIn(object: Readonly<Record<string, unknown>>): string | undefined
  /** The view of an object for people. */
  preview(object: Readonly<Record<string, unknown>>): ObjectPreview
}

interface SentMedia {
  type: MediaType
  /** Where the provider gets them, or its id of them. */
  from: { link: string } | { id: string }
  caption?: string
  /** Of a document. */
  fileName?: string
}

/** Media that a provider has. */
export interface StoredMedia {
  type: MediaType
  id: string
  fileName?: string
}

export interface ObjectPreview {
  type: string
  link?: string
  text?: string
}

interface Typing {
  /** How long it is shown. */
  everyMs: number
  /** The request that shows the person that somebody is typing; undefined where there is nobody to show it to. */
  request(options: {
    settings: Settings
    message: Readonly<Record<string, unknown>>
  }): ProviderRequest | undefined
}

/** Media are looked up first, then fetched from where they are. */
export interface MediaRequests {
  lookup(mediaId: string, settings: Settings): ProviderRequest
  /** Where the response says that the media are. */
  locate(response: ProviderResponse, settings: Settings): MediaLocation
  /** True when a response means that the provider no longer has them, where that is not 404. */
  isGone?(response: ProviderResponse): boolean
  /** Files of ours; undefined where it takes none. */
  upload?: Upload
}

/** How a provider takes a file, which a message then sends by its id. */
interface Upload {
  accepts: readonly AcceptedFiles[]
  /** The form that it is posted in, under the name `file`. */
  request(
    settings: Settings,
    file: { contentType: string },
  ): Pick<ProviderRequest, 'url' | 'headers'> & { fields: Readonly<Record<string, string>> }
  /** Its id; undefined where the response says none. */
  idIn(response: ProviderResponse): string | undefined
}

/** Files that are sent as one type of media. */
export interface AcceptedFiles {
  type: MediaType
  contentTypes: readonly string[]
  maxBytes: number
}

type MediaLocation =
  | { kind: 'found'; request: ProviderRequest; contentType?: string }
  /** It is not said where, or it is at a host that the channel's secrets are not for. */
  | { kind: 'unknown' }
  | { kind: 'foreign_host' }

export interface AccountCheck {
  name: string
  /** The request to make; undefined where `read` knows without. */
  request?: ProviderRequest
  read(response: ProviderResponse): { result: 'ok' | 'bad' | 'unknown'; text: string }
}
