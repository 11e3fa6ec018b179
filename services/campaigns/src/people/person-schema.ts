import { jsonObject } from '@parley/shared/json-object'
import { type Address, addressText, phoneDigits } from '@parley/shared/providers/address'
import { z } from 'zod'
import { PURPOSES } from '../store/person-record.ts'

/** How many addresses one person has, those of joined ones included. */
export const MAX_ADDRESSES = 32
export const MAX_TAGS = 50
export const MAX_NAME = 256
const MAX_ADDRESS = 256

const ADDRESS = /^([a-z]{1,32}):(.+)$/s
const LANGUAGE = /^([a-z]{2,3})(?:[_-]([a-z]{4}))?(?:[_-]([a-z]{2}|\d{3}))?$/i
const ZONE = /^[a-z_]{2,32}(?:\/[a-z\d_+-]{1,32}){0,2}$/i
const TAG = /^[^\p{C},;]{1,64}$/u
const MAX_ZONES = 2_000
const zones = new Map<string, string>()

/** The address that a text is, however a phone number is written in it; undefined for no address. */
export function readAddress(text: string): Address | undefined {
  if (text.length > MAX_ADDRESS || !text.isWellFormed()) return undefined
  const [, kind, value] = ADDRESS.exec(text) ?? []
  if (kind !== undefined && value !== undefined && kind !== 'phone' && kind !== 'tel')
    return /\p{Cc}/u.test(value) ? undefined : { kind, value }
  const digits = phoneDigits(value ?? text)
  return digits === undefined ? undefined : { kind: 'phone', value: digits }
}

/** A language as templates name it: `pt_BR`; undefined for what is none. */
export function readLanguage(text: string): string | undefined {
  const [, language, script, region] = LANGUAGE.exec(text) ?? []
  if (language === undefined) return undefined
  const titled = script && script[0]?.toUpperCase() + script.slice(1).toLowerCase()
  return [language.toLowerCase(), titled, region?.toUpperCase()].filter(Boolean).join('_')
}

/** The name of a time zone of the IANA database; undefined for what is none. */
export function readTimeZone(text: string): string | undefined {
  const known = zones.get(text)
  if (known !== undefined || !ZONE.test(text)) return known
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions()
    if (zones.size >= MAX_ZONES) zones.clear()
    zones.set(text, timeZone)
    return timeZone
  } catch {
    return undefined
  }
}

/** A tag without the spaces around it; undefined for what is none. */
export function readTag(text: string): string | undefined {
  const tag = text.trim()
  return TAG.test(tag) ? tag : undefined
}

/** A text that `read` takes, as what it makes of it. */
const readBy = (read: (text: string) => string | undefined, message: string) =>
  z.string().transform((text, context) => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** The address that a text is, as it is stored; undefined for no address. */
export const addressOf = (text: string): string | undefined => {
  const address = readAddress(text)
  return address && addressText(address)
}

const uniqueOf = (texts: string[]): string[] => [...new Set(texts)]

const fields = {
  addresses: z
    .array(readBy(addressOf, 'is no phone number and no address such as telegram:4711'))
    .min(1)
    .max(MAX_ADDRESSES)
    .transform(uniqueOf)
    .describe('Where they are written to: `phone:` and digits, or what a provider names them by'),
  name: z.string().max(MAX_NAME).describe('What they are called'),
  language: readBy(readLanguage, 'is no language such as pt_BR').describe(
    'Their language, as templates name it',
  ),
  timeZone: readBy(readTimeZone, 'is no time zone such as America/Sao_Paulo').describe(
    'Of the IANA database',
  ),
  attributes: jsonObject.describe('Values of the attributes that the workspace has declared'),
  tags: z
    .array(readBy(readTag, 'is not 1 to 64 characters without commas and semicolons'))
    .max(MAX_TAGS)
    .transform(uniqueOf),
}

/** Fields that are shown, and ignored in a body that was read before. */
const shown = {
  _id: z.unknown().optional(),
  createdAt: z.unknown().optional(),
  updatedAt: z.unknown().optional(),
  lastContactAt: z.unknown().optional(),
}
/** Compared with what is stored: it is not written by the way. */
const consent = z.unknown().optional()

/** The body of a person that is written as a whole; beside an address in the path it needs none. */
export const personBody = z
  .strictObject({
    addresses: fields.addresses.optional(),
    name: fields.name.nullish(),
    language: fields.language.nullish(),
    timeZone: fields.timeZone.nullish(),
    attributes: fields.attributes.nullish(),
    tags: fields.tags.nullish(),
    consent,
    ...shown,
  })
  .meta({ id: 'PersonBody' })
export type PersonBody = z.output<typeof personBody>

/** The body of a change: null takes away, and of attributes those that are named. */
export const personPatch = personBody.meta({ id: 'PersonPatch' })

/** The body by which somebody is made, or found by an address and changed. */
export const newPerson = personBody.extend({ addresses: fields.addresses }).meta({ id: 'NewPerson' })

const purpose = z.object({
  status: z.enum(['granted', 'withdrawn', 'unknown']),
  at: z.iso.datetime().optional(),
  source: z.string().optional().describe('Where it was said'),
  text: z.string().optional().describe('The words that it was said with'),
})

/** A person as callers see it. */
export const personView = z
  .object({
    _id: z.uuid(),
    addresses: z.array(z.string()),
    name: z.string().optional(),
    language: z.string().optional(),
    timeZone: z.string().optional(),
    attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    tags: z.array(z.string()),
    consent: z.object({ marketing: purpose, service: purpose }),
    lastContactAt: z.iso.datetime().optional().describe('When they last wrote, to the hour'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Person', description: 'Somebody who is written to: one record, however many addresses' })

/** Fields that rules of roles see. */
export const PERSON_FIELDS: ReadonlySet<string> = new Set(Object.keys(personView.shape))

export const personExample = {
  _id: '0198c0de-0000-7000-8000-000000000001',
  addresses: ['phone:5511988887777'],
  name: 'João Souza',
  language: 'pt_BR',
  timeZone: 'America/Sao_Paulo',
  attributes: { city: 'Santos' },
  tags: ['vip'],
  consent: Object.fromEntries(PURPOSES.map((name) => [name, { status: 'unknown' }])),
  createdAt: '2026-11-02T12:00:00.000Z',
  updatedAt: '2026-11-02T12:00:00.000Z',
}
