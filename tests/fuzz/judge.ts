import { errors } from '@parley/shared/errors'
import { mayByDefault } from '../../docs/permissions-page.ts'
import { document, type MediaType, resolved, schemaErrors } from '../openapi/read-document.ts'
import { type Exchange, exchange } from './exchange.ts'
import { bytesOf, type CallerName, type FuzzCase, filled } from './fuzz-case.ts'
import { type FuzzedOperation, operationOf } from './operations.ts'
import type { RawResponse } from './parse-responses.ts'
import type { FuzzWorld } from './world.ts'

/** The results of one case. */
interface Attacked {
  statuses: number[]
  failures: Failure[]
}

/** Sends a case and judges what comes back. */
export async function attack(one: FuzzCase, world: FuzzWorld): Promise<Attacked> {
  const { bytes, requestId } = bytesOf(one, world.fill)
  const came = await exchange(world.url, bytes, { method: one.method, delivery: one.delivery })
  const target = filled(one.target, world.fill)
  const forbidden = [...world.hidden, ...world.forbiddenTo(one.caller)]
  const failures = judge({ one, target, requestId, forbidden }, came)
  return { statuses: came.responses.map(({ status }) => status), failures }
}

/** Names a fault: two of the same name have the same cause, as far as one can tell from outside. */
export function signatureOf({ method, target, kind, raw }: FuzzCase, { oracle, why }: Failure): string {
  const what =
    raw === undefined ? `${method} ${target.split('?', 1)[0]?.replaceAll(/\{\{[^}]*\}\}/g, 'x')}` : kind
  return `${oracle}: ${what.slice(0, 60)}: ${why.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\d+/g, '#').slice(0, 60)}`
}

export const ORACLES = [
  ...(['5xx', 'no answer', 'outside the document', 'leak', 'permission', 'wrong status'] as const),
] as const
export type Oracle = (typeof ORACLES)[number]

interface Failure {
  oracle: Oracle
  why: string
}

interface Judging {
  one: FuzzCase
  /** Its target as it was sent. */
  target: string
  requestId: string | undefined
  /** Texts that the caller may not see, whoever they belong to. */
  forbidden: readonly string[]
}

// Texts that only an uncaught failure would show.
const INSIDE =
  /\n\s+at \S|node_modules|file:\/\/\/\w+\/(?!passwd)\S+\.[jt]s|Mongo\w*Error|BSON\w*Error|E11000|ZodError|(?:Type|Range|Reference|Syntax)Error|amqp:\/\/|mongodb:\/\/|redis:\/\//
const HASH = /\$2[aby]\$\d\d\$[./\w]{53}/
/** Refused before anybody read what the request calls itself. */
const BEFORE_HEADERS = ['malformed_request', 'headers_too_large', 'request_timeout']
const REVEALING_HEADERS = ['server', 'x-powered-by']
/** Where passwords are hashed: behind a bounded queue. */
const QUEUED = ['register', 'login', 'acceptInvitation', 'resetPassword', 'createUser', 'changePassword']

/** Returns the errors in the answers to a case; empty when there are none. */
export function judge(judging: Judging, { responses, broken }: Exchange): Failure[] {
  const { delivery = {}, kind, method, raw } = judging.one
  const isCut = delivery.cutAfter !== undefined || delivery.cutResponse || delivery.halfClosed
  if (broken !== undefined) return isCut ? [] : [{ oracle: 'no answer', why: broken }]
  // A connection whose bytes break off may be closed without a word, and nobody tunnels through us.
  if (responses.length === 0)
    return isCut || raw !== undefined || method === 'CONNECT'
      ? []
      : [{ oracle: 'no answer', why: 'the connection was closed' }]
  if (responses.length > 1 && kind !== 'connection')
    return [{ oracle: 'outside the document', why: `${responses.length} answers to one request` }]
  return responses.flatMap((response) => judgeResponse(judging, response))
}

function judgeResponse(judging: Judging, response: RawResponse): Failure[] {
  const { one, target, forbidden } = judging
  const operation = one.raw === undefined ? operationOf(one.method, target) : undefined
  const failure = (oracle: Oracle) => (why: string) => ({ oracle, why })
  return [
    ...serverError(operation, response).map(failure('5xx')),
    ...undescribed(judging, operation, response).map(failure('outside the document')),
    ...leaked({ operation, response, forbidden }).map(failure('leak')),
    ...notPermitted(one, operation, response).map(failure('permission')),
    ...(one.expectedStatuses === undefined || one.expectedStatuses.includes(response.status)
      ? []
      : [failure('wrong status')(`${response.status} where ${one.expectedStatuses.join(', ')} is right`)]),
  ]
}

function serverError(
  operation: FuzzedOperation | undefined,
  { status, headers, text }: RawResponse,
): string[] {
  if (status < 500) return []
  const queued = operation !== undefined && QUEUED.includes(operation.operation.operationId)
  const reported = status === 503 && headers.has('retry-after')
  return queued && reported ? [] : [`${status} ${text.slice(0, 200)}`]
}

/** How an answer differs from what the document says of its operation, or of any path when it is none. */
function undescribed(
  judging: Judging,
  operation: FuzzedOperation | undefined,
  response: RawResponse,
): string[] {
  const { requestId, one } = judging
  const { status, headers, text } = response
  if (one.raw !== undefined && status < 400) return []
  const id = headers.get('x-request-id')
  const unread = BEFORE_HEADERS.some((code) => text.includes(`"code":"${code}"`))
  const wrongId = id === null || (requestId !== undefined && id !== requestId && !unread)
  const described = operation?.operation.responses[String(status)]
  // A HEAD need not be taken where a GET is, nor a path with a slash at its end.
  const isElse =
    (one.method === 'HEAD' && status === 405) || (status === 404 && /\/(?:\?|$)/.test(judging.target))
  if (operation !== undefined && described === undefined && !isElse) {
    return [`${status} is not described: ${response.text.slice(0, 200)}`]
  }
  const content = described === undefined ? problemContent : (resolved(described).content ?? {})
  const bare = one.method === 'HEAD' || status === 304
  return [
    ...(wrongId ? [`the answer has the request id ${id}`] : []),
    ...(status === 401 && !headers.has('www-authenticate') ? ['401 without WWW-Authenticate'] : []),
    ...(status === 405 && !headers.has('allow') ? ['405 without Allow'] : []),
    ...(status === 429 && !headers.has('retry-after') ? ['429 without Retry-After'] : []),
    ...(operation === undefined && status < 400 ? [`${status} where nothing is`] : []),
    ...(bare ? [] : wrongBody(response, content)),
  ]
}

const problemContent: Record<string, MediaType> = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
}
if (!('Problem' in document.components.schemas)) throw new Error('the document describes no problem')

function wrongBody({ status, headers, text }: RawResponse, content: Record<string, MediaType>): string[] {
  const type = headers.get('content-type')?.split(';', 1)[0] ?? 'nothing'
  const media = content[type]
  if (media === undefined) return [`${status} with ${type}, described is ${Object.keys(content)}`]
  const body = type.endsWith('json') ? parsed(text) : text
  if (body === undefined) return ['the body is no JSON']
  const problem = type.startsWith('application/problem') ? wrongProblem(body, status) : []
  return [...problem, ...schemaErrors(media.schema, body, status === 200 ? 'closed' : 'open').slice(0, 3)]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function wrongProblem(body: unknown, status: number): string[] {
  const { code, status: reported } = body as { code?: keyof typeof errors; status?: number }
  const known = code === undefined ? undefined : errors[code]
  if (known === undefined) return [`${code} is no code of the table`]
  return known.status === status && reported === status ? [] : [`${code} with ${status} and ${reported}`]
}

function leaked(options: {
  operation: FuzzedOperation | undefined
  response: RawResponse
  forbidden: readonly string[]
}): string[] {
  const { operation, response, forbidden } = options
  const { headers, text, status } = response
  const all = `${[...headers].join('\n')}\n${text}`
  const inside = INSIDE.exec(all)?.[0]
  const mayHash = operation?.operation.operationId === 'register' && status === 200
  return [
    ...forbidden.filter((each) => all.includes(each)).map((each) => `shows ${each}`),
    ...(inside === undefined ? [] : [`shows ${inside.trim()}`]),
    ...(!mayHash && HASH.test(all) ? ['shows a hash of a password'] : []),
    ...REVEALING_HEADERS.filter((name) => headers.has(name)).map((name) => `has the header ${name}`),
  ]
}

const WITHOUT_ROLE: readonly CallerName[] = ['nobody', 'stranger']

function notPermitted(
  one: FuzzCase,
  operation: FuzzedOperation | undefined,
  { status, text }: RawResponse,
): string[] {
  if (operation === undefined || status !== 200) return []
  const { permission } = operation
  if (permission.access === 'nothing' || permission.path === '/api/auth/logout') return []
  // An import of nothing takes no right to write anything.
  if (permission.path === '/rest/import' && text.includes('"plan":[]') && one.caller !== 'nobody') return []
  const may = !WITHOUT_ROLE.includes(one.caller)
    ? mayByDefault(one.caller, permission)
    : one.caller === 'stranger'
  return may ? [] : [`${one.caller} got 200`]
}
