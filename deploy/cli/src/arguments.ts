import { InvalidArgumentError, Option } from 'commander'

/** The states that a message can be in. */
export const STATES = [
  ...['received', 'handled', 'sending', 'sent', 'delivered', 'read', 'done', 'failed', 'dead', 'unrouted'],
] as const
const FAULTS = ['caller', 'channel', 'provider', 'recipient', 'us'] as const

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** One or several of `choices`, separated by commas. */
function listOf<T extends string>(choices: readonly T[]): (text: string) => T[] {
  return (text) => {
    const given = text.split(',')
    const wrong = given.find((each) => !(choices as readonly string[]).includes(each))
    if (wrong === undefined) return given as T[]
    throw new InvalidArgumentError(
      `There is no ${JSON.stringify(wrong)}. Allowed are: ${choices.join(', ')}.`,
    )
  }
}

/** A time: ISO 8601, or how long ago it was (`30m`). */
function time(text: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS[unit] ?? 0)
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new InvalidArgumentError('A time is like 2026-11-20T12:00:00Z, or 30m, 2h, 7d for so long ago.')
}

/** A whole number between two bounds. */
export function integer({ least, most }: { least: number; most: number }): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`)
  }
}

export const URL_EXAMPLES = 'It looks like https://parley.example.com, or http://127.0.0.1:8080.'

/** True when a text is an address that a gateway can have. */
export const isGatewayUrl = (text: string): boolean => /^https?:/.test(text) && URL.canParse(text)

export function url(text: string): string {
  if (isGatewayUrl(text)) return new URL(text).origin
  throw new InvalidArgumentError(URL_EXAMPLES)
}

/** Which messages: as the message log is filtered. */
export interface Picked {
  state?: (typeof STATES)[number][]
  channel?: string
  thread?: string
  phone?: string
  fault?: (typeof FAULTS)[number]
  from?: string
  to?: string
}

/** The options by which messages are picked. */
export function pickOptions(): Option[] {
  return [
    new Option('--state <states>', 'in one of these states, separated by commas').argParser(listOf(STATES)),
    new Option('--channel <extId>', 'that name this channel'),
    new Option('--thread <extId>', 'of this thread'),
    new Option('--phone <number>', 'for this number, however it is written'),
    new Option('--fault <whose>', 'given up by this fault').choices(FAULTS),
    new Option('--from <time>', 'received then or later: ISO 8601, or 30m, 2h, 7d ago').argParser(time),
    new Option('--to <time>', 'received before').argParser(time),
  ]
}

/** The filter among all options of a command. */
export function pickedBy({ state, channel, thread, phone, fault, from, to }: Picked): Picked {
  const filter = { state, channel, thread, phone, fault, from, to }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}
