import fc from 'fast-check'
import { FORGERIES } from '../forged-tokens.ts'
import type { FuzzCase, Header } from '../fuzz-case.ts'
import { securedOperations } from '../operations.ts'
import { pathOf } from './requests.ts'

const HUGE = 'A'.repeat(12_000)
// Statuses from before a token is checked: a token as such is refused only with 401.
const REFUSED = [401, 400, 431]

const TOKEN = '{{token:WORKSPACE_ADMIN}}'
/** Values of the header with which nobody gets in. */
const VALUES: readonly string[] = [
  ...[
    '',
    'Bearer',
    'Bearer ',
    'Bearer null',
    'Bearer undefined',
    'Bearer true',
    'Bearer {}',
    'Bearer .',
    'Bearer ..',
  ],
  ...[
    TOKEN,
    `Basic ${TOKEN}`,
    `Token ${TOKEN}`,
    `Bearer:${TOKEN}`,
    `Bearer Bearer ${TOKEN}`,
    `Bearer\u00a0${TOKEN}`,
  ],
  ...[
    `Bearer "${TOKEN}"`,
    `Bearer ${TOKEN},`,
    `Bearer ${TOKEN} x`,
    `Bearer x ${TOKEN}`,
    `Bearer ${TOKEN}, Bearer x`,
  ],
  ...[
    `Bearer ${TOKEN}.`,
    `Bearer .${TOKEN}`,
    `Bearer ${HUGE}`,
    `Bearer ${HUGE}.${HUGE}.x`,
    `Bearer ${'a.'.repeat(3_000)}`,
  ],
  ...[
    'Basic YTpi',
    'Digest username="a"',
    'Bearer %00',
    'Bearer é',
    'Bearer $\u007bjndi:ldap://127.0.0.1:9/x}',
    'DPoP x',
  ],
]

const authorization: fc.Arbitrary<readonly Header[]> = fc.oneof(
  { arbitrary: fc.constantFrom(...FORGERIES).map((name) => [bearer(`{{forged:${name}}}`)]), weight: 6 },
  { arbitrary: fc.constantFrom(...VALUES).map((value): Header[] => [['authorization', value]]), weight: 3 },
  {
    // A token anywhere but in its header is none.
    arbitrary: fc.constantFrom<Header[]>(
      [['cookie', `access_token=${TOKEN}; token=${TOKEN}`]],
      [['x-access-token', TOKEN]],
      [['x-internal-authorization', `Bearer ${TOKEN}`]],
      [['proxy-authorization', `Bearer ${TOKEN}`]],
      [['authorization_', `Bearer ${TOKEN}`]],
      [['x-internal-caller', '{"account":{"_id":1}}']],
    ),
    weight: 1,
  },
)

function bearer(token: string): Header {
  return ['authorization', `Bearer ${token}`]
}

/** Tokens that nobody issued: none of them gets anything but 401. */
export const tokenCases: fc.Arbitrary<FuzzCase> = fc
  .constantFrom(...securedOperations.filter(({ path }) => path !== '/api/auth/logout'))
  .chain((operation) =>
    fc.tuple(pathOf(operation), authorization).map(
      ([target, sent]): FuzzCase => ({
        kind: 'token',
        caller: 'nobody',
        method: operation.method,
        target,
        expectedStatuses: REFUSED,
        headers: [
          ['host', 'parley.test'],
          ['x-request-id', '{{request-id}}'],
          ...sent,
          ['connection', 'close'],
        ],
      }),
    ),
  )
