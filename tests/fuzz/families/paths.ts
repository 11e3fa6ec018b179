import fc from 'fast-check'
import { type FuzzCase, ordinaryHeaders } from '../fuzz-case.ts'
import { fuzzedOperations } from '../operations.ts'
import { caller } from './requests.ts'

const METHODS = ['GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']
const SEGMENTS: readonly string[] = [
  ...[
    '.',
    '..',
    '%2e',
    '%2E%2e',
    '.%2e',
    '%2f',
    '%2F..%2F',
    '%5c',
    '%5C..',
    '%00',
    '1%00',
    '%0a',
    '%0d%0aX: 1',
    '%7f',
  ],
  ...[
    '',
    '//',
    ';',
    ';a=1',
    '1;x',
    '1,2',
    '%',
    '%2',
    '%zz',
    '%u0041',
    '%c0%ae%c0%ae',
    '%c0%af',
    '%ff',
    '%ed%a0%80',
  ],
  ...[
    '%252e%252e',
    '%25',
    '%20',
    '+',
    '*',
    '$where',
    '%24ne',
    '[object%20Object]',
    '__proto__',
    'constructor',
    '{id}',
  ],
  ...[
    'é',
    '1é',
    '１',
    '%EF%BC%91',
    'İ',
    '%E2%80%AE',
    '👍',
    '\u00a0',
    '\\',
    '..\\',
    '|',
    '<',
    '"',
    '^',
    '`',
    '\u0001',
    '\u007f',
  ],
  ...[
    '1/..',
    '1/../../users',
    '1/history/..',
    '1/history/history',
    '1/explain',
    '1/',
    '1//',
    '-1',
    '0x1',
    '1e1',
    '00',
    '+1',
  ],
  ...['9007199254740993', '99999999999999999999', `${'9'.repeat(400)}`, 'a'.repeat(129), 'a'.repeat(7_000)],
]
const WHOLE: readonly string[] = [
  ...[
    '*',
    '/',
    '//',
    '/.',
    '/..',
    '',
    '?',
    '#',
    '/#',
    '/?',
    'rest/jobs',
    'http://x/rest/jobs',
    'https://x/',
    '//x/rest/jobs',
  ],
  ...[
    'http:///rest/jobs',
    'http://127.0.0.1:9/',
    'ftp://x/',
    'file:///etc/passwd',
    'parley.test:80',
    '/\\x',
    '/%2e%2e/etc/passwd',
  ],
  ...[
    '/internal/introspect',
    '/internal/changes',
    '/internal/roles/1',
    '/rest/../internal/changes',
    '/REST/jobs',
    '/Rest/Users',
  ],
  ...[
    '/rest',
    '/rest/',
    '/api',
    '/api/auth',
    '/api/auth/',
    '/api/hooks',
    '/api/hooks/whatsapp/a',
    '/api/hooks/whatsapp/a/b/c',
  ],
  ...[
    '/rest/__proto__',
    '/rest/constructor',
    '/rest/toString',
    '/rest/channelsx',
    '/rest/channel',
    '/rest/assistants',
  ],
  ...[
    '/metrics',
    '/health',
    '/health/live/',
    '/docs/',
    '/docs/../rest/jobs',
    '/openapi.json/',
    '/.env',
    '/.git/config',
    '/rest/jobs.json',
  ],
  ...[
    '/rest/jobs#x',
    '/rest/jobs;x',
    '/rest/jobs/?',
    '/rest/jobs//1',
    '/rest//jobs',
    '/./rest/jobs',
    '/rest/jobs/1/2/3',
  ],
  ...[
    '/rest/messages/replay',
    '/rest/messages/conservation/x',
    '/rest/hooks/1',
    '/rest/export/x',
    '/rest/check/1',
    '/rest/audit/1',
  ],
  `/${'a'.repeat(15_000)}`,
]

const templated = fc
  .tuple(fc.constantFrom(...fuzzedOperations), fc.constantFrom(...SEGMENTS))
  .map(([{ path }, segment]) =>
    path.includes('{') ? path.replaceAll(/\{\w+\}/g, segment) : `${path}/${segment}`,
  )
const recased = fc
  .constantFrom(...fuzzedOperations)
  .map(({ path }) =>
    path.replaceAll(/\{\w+\}/g, '1').replace(/[a-z](?=[^/]*$)/, (letter) => letter.toUpperCase()),
  )

/** Targets that parts of a system read differently, and places where nothing is. */
export const pathCases: fc.Arbitrary<FuzzCase> = fc
  .tuple(
    fc.oneof(
      { arbitrary: templated, weight: 6 },
      { arbitrary: fc.constantFrom(...WHOLE), weight: 3 },
      { arbitrary: recased, weight: 1 },
    ),
    fc.constantFrom(...METHODS),
    caller,
  )
  .map(
    ([target, method, caller]): FuzzCase => ({
      kind: 'path',
      caller,
      method,
      target,
      headers: ordinaryHeaders({ caller }),
    }),
  )
