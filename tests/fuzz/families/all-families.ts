import type fc from 'fast-check'
import type { FuzzCase, Kind } from '../fuzz-case.ts'
import { bodyCases } from './bodies.ts'
import { connectionCases } from './connections.ts'
import { headerCases } from './headers.ts'
import { jsonCases } from './json-texts.ts'
import { operationCases } from './operations.ts'
import { pathCases } from './paths.ts'
import { queryCases } from './queries.ts'
import { specCases } from './specs.ts'
import { tokenCases } from './tokens.ts'

/** Each family, and its part of all requests. */
export const families: Record<Kind, { cases: fc.Arbitrary<FuzzCase>; share: number }> = {
  operation: { cases: operationCases, share: 0.18 },
  body: { cases: bodyCases, share: 0.24 },
  json: { cases: jsonCases, share: 0.1 },
  token: { cases: tokenCases, share: 0.1 },
  path: { cases: pathCases, share: 0.1 },
  query: { cases: queryCases, share: 0.12 },
  header: { cases: headerCases, share: 0.09 },
  connection: { cases: connectionCases, share: 0.05 },
  spec: { cases: specCases, share: 0.02 },
}
