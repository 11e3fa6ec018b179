import type { Schemas } from '@parley/client'
import type { Person } from './person-of.ts'

export type Attribute = Schemas['Attributes']['attributes'][number]
export type ConsentStatus = Person['consent']['marketing']['status']

export const PURPOSES = ['marketing', 'service'] as const
export type Purpose = (typeof PURPOSES)[number]

/** How good it is for whoever writes to them. */
export const TONES = { granted: 'good', withdrawn: 'bad', unknown: 'neutral' } as const

/** An address as one reads it: a number with its plus, else with what it is of. */
export const shownAddress = (address: string): string =>
  address.startsWith('phone:') ? `+${address.slice('phone:'.length)}` : address

export const nameOf = ({ name, addresses: [first = ''] }: Pick<Person, 'name' | 'addresses'>): string =>
  name || shownAddress(first)

/** Returns the entries of a typed list, one on each line or between commas. */
export const listIn = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((one) => one.trim())
    .filter((one) => one !== '')
