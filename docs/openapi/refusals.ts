import { type ErrorCode, errors } from '@parley/shared/errors'
import type { Operation } from '@parley/shared/openapi/operation'
import type { PermissionOperation } from '../permission-operations.ts'
import { problemExample } from './schemas.ts'

const ALWAYS: ErrorCode[] = [
  ...(['invalid_path', 'malformed_request', 'request_timeout', 'rate_limited', 'headers_too_large'] as const),
  ...(['internal_error', 'bad_gateway', 'unavailable', 'upstream_timeout'] as const),
]
const WITH_BODY: ErrorCode[] = [
  ...(['malformed_json', 'malformed_body', 'body_timeout', 'body_too_large'] as const),
  ...(['unsupported_media_type', 'validation_failed', 'too_deep', 'too_many_members'] as const),
]
/** Errors of operations that the gateway answers itself: these take no input and depend on nothing. */
const OWN: ErrorCode[] = ['invalid_path', 'malformed_request', 'request_timeout', 'headers_too_large']

/** Every code that an operation may refuse with. */
export function refusalsOf(operation: Operation, { access, service }: PermissionOperation): ErrorCode[] {
  if (service === 'gateway') return [...OWN, ...(operation.errors ?? [])]
  const secured: ErrorCode[] = access === 'nothing' ? [] : ['unauthenticated', 'forbidden']
  const withBody = operation.body === undefined ? [] : WITH_BODY
  const withQuery: ErrorCode[] = operation.query === undefined ? [] : ['validation_failed']
  return [...new Set([...ALWAYS, ...secured, ...withBody, ...withQuery, ...(operation.errors ?? [])])]
}

const RETRY_AFTER = { $ref: '#/components/headers/Retry-After' }
const HEADERS: Record<number, Record<string, object>> = {
  401: { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
  429: {
    'Retry-After': RETRY_AFTER,
    'RateLimit-Policy': { $ref: '#/components/headers/RateLimit-Policy' },
    RateLimit: { $ref: '#/components/headers/RateLimit' },
  },
  502: { 'Retry-After': RETRY_AFTER },
  503: { 'Retry-After': RETRY_AFTER },
  504: { 'Retry-After': RETRY_AFTER },
}

/** A component for each set of codes that some operation may answer a status with. */
export interface Refusals {
  /** The `responses` of an operation that may refuse with `codes`. */
  responsesFor(codes: readonly ErrorCode[]): Record<string, object>
  /** `components/responses` for all that was asked for. */
  components(): Record<string, object>
  /** The `components/schemas` that those refer to, so that a generator makes a type of each once. */
  schemas(): Record<string, object>
  /** `components/examples`, one for each code. */
  examples(): Record<string, object>
}

export function createRefusals(): Refusals {
  const components = new Map<string, object>()
  const schemas = new Map<string, object>()
  const used = new Set<ErrorCode>()
  return {
    responsesFor: (codes) => {
      const byStatus = Map.groupBy(codes.toSorted(), (code) => errors[code].status)
      return Object.fromEntries(
        [...byStatus].map(([status, group]) => {
          const name = group.join('-')
          for (const code of group) used.add(code)
          components.set(name, refusal(status, group))
          schemas.set(schemaNameOf(group), problemOf(status, group))
          return [String(status), { $ref: `#/components/responses/${name}` }]
        }),
      )
    },
    components: () => sorted(components),
    schemas: () => sorted(schemas),
    examples: () =>
      Object.fromEntries(
        [...used]
          .toSorted()
          .map((code) => [
            code,
            { summary: errors[code].title, value: problemExample(code, '/rest/channels/1') },
          ]),
      ),
  }
}

function refusal(status: number, codes: readonly ErrorCode[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${errors[code].title}`).join('; '),
    headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' }, ...HEADERS[status] },
    content: {
      'application/problem+json': {
        schema: { $ref: `#/components/schemas/${schemaNameOf(codes)}` },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  }
}

/** `not_found` as `NotFoundProblem`. */
function schemaNameOf(codes: readonly ErrorCode[]): string {
  const words = codes.flatMap((code) => code.split('_'))
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Problem`
}

/** Types are repeated, and a constant is an enumeration of one, because generators that merge `allOf` need both. */
function problemOf(status: number, codes: readonly ErrorCode[]): object {
  return {
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      {
        type: 'object',
        properties: { status: { type: 'integer', enum: [status] }, code: { type: 'string', enum: codes } },
      },
    ],
  }
}

const sorted = (map: ReadonlyMap<string, object>): Record<string, object> =>
  Object.fromEntries([...map].toSorted(([a], [b]) => a.localeCompare(b)))
