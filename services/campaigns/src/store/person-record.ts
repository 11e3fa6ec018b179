/** The purposes of messages that a person may have consented to. */
export const PURPOSES = ['marketing', 'service'] as const
export type Purpose = (typeof PURPOSES)[number]

/** The latest consent of a person for one purpose; nothing is stored where that is unknown. */
export interface Consent {
  status: 'granted' | 'withdrawn'
  at: Date
  /** Where it was said, such as `import` or `message`. */
  source: string
  /** The words that it was said with, or that were agreed to. */
  text?: string
}

/** A person as stored; the rules of roles see the fields that callers see. */
export interface PersonRecord {
  _id: string
  workspace: number
  /** As `kind:value`; each is one person's of the workspace. */
  addresses: string[]
  name?: string
  /** Such as `pt_BR`. */
  language?: string
  timeZone?: string
  attributes: Record<string, string | number | boolean>
  tags: string[]
  consent: Partial<Record<Purpose, Consent>>
  lastContactAt?: Date
  createdAt: Date
  updatedAt: Date
  /** The beginning of the name, as it is searched by. */
  nameKey?: string
  /** Ids of those who turned out to be this person. */
  joined?: string[]
  /** The imports that last had them in it, the latest at the end. */
  imports?: string[]
  revision: number
}

const KEY_CHARACTERS = 64

/** A name as it is searched by: without case and accents. */
export const nameKeyOf = (name: string): string =>
  name
    .slice(0, 4 * KEY_CHARACTERS)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .trim()
    .slice(0, KEY_CHARACTERS)
    .toWellFormed()
