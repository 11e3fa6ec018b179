import { z } from 'zod'

const FORMAT = /^(\S+)\s+(\{.*\})$/
/** Fields that every line has, or that say nothing to somebody in front of a terminal. */
const LEFT_OUT = ['level', 'time', 'service', 'msg', 'err', 'traceId', 'workspace', 'alarm']
const MAX_VALUE = 200

const entry = z.looseObject({
  level: z.string(),
  time: z.iso.datetime(),
  msg: z.string(),
  service: z.string().optional(),
  err: z.looseObject({ message: z.string() }).optional(),
})
const deadMessage = z.looseObject({
  msg: z.literal('message'),
  state: z.literal('dead'),
  messageId: z.string(),
  channel: z.string().optional(),
  reason: z.string().optional(),
  fault: z.string().nullish(),
})
const CAUSES: Record<string, string> = {
  caller: 'caller',
  channel: 'channel',
  provider: 'provider',
  us: 'Parley',
}

/**
 * A line that a process of the system logged (`<name> <JSON>`) as text, by the name of the service that it is of; other
 * lines stay as they are.
 */
export function readableLine(line: string): string {
  const [, name = '', json = ''] = FORMAT.exec(line) ?? []
  const logged = parse(json)
  const { data } = entry.safeParse(logged)
  if (data === undefined) return line
  const clock = new Date(data.time).toTimeString().slice(0, 8)
  const dead = deadMessage.safeParse(logged).data
  if (dead !== undefined) return `${clock} dead  ${deadText(dead)}`
  const fields = Object.entries(data).filter(([key]) => !LEFT_OUT.includes(key))
  const said = data.err === undefined ? fields : [...fields, ['reason', data.err.message]]
  const more = said.map(([key, value]) => `${key} ${shown(value)}`).join(', ')
  const source = name === 'services' ? (data.service ?? name) : name
  return `${clock} ${data.level.padEnd(5)} ${source}: ${data.msg}${more === '' ? '' : ` (${more})`}`
}

function deadText({ messageId, channel, reason = 'no reason given', fault }: z.output<typeof deadMessage>) {
  const cause = CAUSES[fault ?? '']
  return `${messageId} on ${channel ?? '?'}: ${reason}${cause === undefined ? '' : ` (${cause})`}`
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.slice(0, MAX_VALUE)
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
