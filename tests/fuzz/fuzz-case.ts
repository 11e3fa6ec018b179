import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

/** The senders: users of the workspace under test by role, the admin of another workspace, or nobody. */
export const CALLERS = ['WORKSPACE_ADMIN', 'MEMBER', 'VIEWER', 'PROVIDER', 'stranger', 'nobody'] as const
export type CallerName = (typeof CALLERS)[number]

/** The families of attacks, in the order of the report. */
export const KINDS = [
  'operation',
  'body',
  'json',
  'token',
  'path',
  'query',
  'header',
  'connection',
  'spec',
] as const
export type Kind = (typeof KINDS)[number]

export type Header = readonly [name: string, value: string]

/**
 * One hostile request, as it is kept and printed. `{{…}}` in target, headers and body stands for what differs from run
 * to run: ids, tokens, the length of the body.
 */
export interface FuzzCase {
  kind: Kind
  caller: CallerName
  method: string
  target: string
  headers: readonly Header[]
  body?: string
  /** Of the body; UTF-8 when left out. */
  encoding?: 'latin1'
  /** The only statuses that are right, where the attack says so. */
  expectedStatuses?: readonly number[]
  delivery?: FuzzDelivery
  /** All of the bytes, in the place of what the rest says. */
  raw?: string
}

/** How the bytes go out, where it is not all at once. */
export interface FuzzDelivery {
  /** In so many pieces, with a moment between them. */
  pieces?: number
  /** Only so much of it, 0 to 1; then the connection is cut. */
  cutAfter?: number
  /** The connection is cut with the first byte of the answer. */
  cutResponse?: true
  /** The caller says at once that nothing more will come from it. */
  halfClosed?: true
}

const JSON_TYPE: Header = ['content-type', 'application/json']

/** The headers of an ordinary request of a caller. */
export function ordinaryHeaders(options: {
  caller: CallerName
  token?: string
  hasBody?: boolean
}): Header[] {
  const { caller, token = `{{token:${caller}}}`, hasBody = false } = options
  return [
    ['host', 'parley.test'],
    ['x-request-id', '{{request-id}}'],
    ...(caller === 'nobody' ? [] : [['authorization', `Bearer ${token}`] as const]),
    ...(hasBody ? [JSON_TYPE, ['content-length', '{{length}}'] as const] : []),
    ['connection', 'close'],
  ]
}

/** Returns the value for a placeholder such as `victim:users`; undefined when nobody knows it. */
export type Fill = (name: string) => string | undefined

/** A case as bytes, and the request id that was put in, if one was. */
export function bytesOf(one: FuzzCase, fill: Fill): { bytes: Buffer; requestId: string | undefined } {
  if (one.raw !== undefined)
    return { bytes: Buffer.from(filled(one.raw, fill), 'latin1'), requestId: undefined }
  const id = randomUUID()
  // One that is sent twice is none.
  const sent = one.headers.filter(([name]) => name.toLowerCase() === 'x-request-id')
  const named = sent.length === 1 && sent[0]?.[1] === '{{request-id}}'
  const body = Buffer.from(filled(one.body ?? '', fill), one.encoding ?? 'utf8')
  const own: Fill = (name) =>
    name === 'request-id' ? id : name === 'length' ? String(body.length) : fill(name)
  const lines = one.headers.map(([name, value]) => `${name}: ${filled(value, own)}\r\n`)
  const head = `${one.method} ${filled(one.target, fill)} HTTP/1.1\r\n${lines.join('')}\r\n`
  return { bytes: Buffer.concat([Buffer.from(head), body]), requestId: named ? id : undefined }
}

/** Puts in what the placeholders stand for; one that nobody knows stays. */
export function filled(text: string, fill: Fill): string {
  return text.replaceAll(/\{\{([\w:-]+)\}\}/g, (whole, name: string) => fill(name) ?? whole)
}

/** A case that once broke something. */
interface Regression {
  /** The promise that it broke. */
  found: string
  case: FuzzCase
}

const REGRESSIONS = new URL('regressions.json', import.meta.url)

export const readRegressions = (): Regression[] => JSON.parse(readFileSync(REGRESSIONS, 'utf8'))

/** Keeps a case, in the place of one that broke the same. */
export function saveRegression(regression: Regression): void {
  const kept = readRegressions().filter(({ found }) => found !== regression.found)
  writeFileSync(REGRESSIONS, `${JSON.stringify([...kept, regression], null, 2)}\n`)
}
