import fc from 'fast-check'
import { CALLERS, type CallerName, type Header, ordinaryHeaders } from '../fuzz-case.ts'
import type { FuzzedOperation } from '../operations.ts'
import { fromSchema } from '../values/from-schema.ts'
import { jsonText, naughtyString } from '../values/naughty-values.ts'

export const caller = fc.constantFrom(...CALLERS)

const IDS = [
  '0',
  '2',
  '3',
  '7',
  '-1',
  '9007199254740991',
  '9007199254740992',
  '1e3',
  '01',
  '1.0',
  'x',
  'null',
  'a b',
]
/** Operations that end the caller's session, or would. */
const ENDING = ['logout', 'changePassword']
/** Users and roles of the callers themselves stay, or the attack would soon be over. */
const OWN_IDS = ['users', 'roles', 'workspaces', 'tokens', 'invitations']

/** A segment as it may stand in a path: naughty, but encoded. */
export const encodedSegment = naughtyString.map((text) =>
  text === '' ? '%20' : encodeURIComponent(text.toWellFormed()).replaceAll('%00', '%2500'),
)

/** The path of an operation with something in the place of what varies. */
export function pathOf({ path, operation }: FuzzedOperation): fc.Arbitrary<string> {
  if (path.includes('{slug}')) {
    const slug = fc.oneof(fc.constantFrom('{{slug:own}}', '{{slug:foreign}}'), encodedSegment)
    const channel = fc.oneof(fc.constantFrom('sealed', 'support-line'), encodedSegment)
    return fc
      .tuple(slug, channel)
      .map(([slug, channel]) => path.replace('{slug}', slug).replace('{channelExtId}', channel))
  }
  if (!path.includes('{id}')) return fc.constant(path)
  const collection = path.split('/')[path.startsWith('/api/auth') ? 3 : 2] ?? ''
  const known = [`{{victim:${collection}}}`, `{{victim:${collection}}}`, `{{foreign:${collection}}}`]
  const odd = OWN_IDS.includes(collection) ? IDS.filter((id) => !/^[1-9]\d?$/.test(id)) : IDS
  const isKey = operation.operationId.includes('Config')
  const id = fc.oneof(
    { arbitrary: fc.constantFrom(...known), weight: 5 },
    { arbitrary: fc.constantFrom(...odd.map(encodeURIComponent)), weight: 2 },
    { arbitrary: isKey ? encodedSegment : fc.constant('1x'), weight: 1 },
  )
  return id.map((id) => path.replace('{id}', id))
}

/** The headers of a caller’s ordinary request of an operation. */
export function headersOf(options: {
  operation: FuzzedOperation
  caller: CallerName
  hasBody: boolean
}): Header[] {
  const { operation, caller, hasBody } = options
  const ends = ENDING.includes(operation.operation.operationId)
  return ordinaryHeaders({ caller, hasBody, ...(ends ? { token: `{{spare:${caller}}}` } : {}) })
}

/** Bodies that the document says an operation takes, as JSON; undefined where it takes none. */
export function validBody({ operation }: FuzzedOperation): fc.Arbitrary<unknown> | undefined {
  const [media] = Object.values(operation.requestBody?.content ?? {})
  return media === undefined ? undefined : fromSchema(media.schema)
}

export const asJson = (body: fc.Arbitrary<unknown>): fc.Arbitrary<string> => body.map(jsonText)
