import { describe, expect, test } from '@jest/globals'
import { mapSecrets } from '@parley/shared/map-secrets'
import { MASK } from '@parley/shared/secret-names'
import type { Reach } from '@parley/shared/secret-places'
import { looksLikeKey } from '@parley/shared/secret-urls'

const masked = (text: string, reach: Reach) => mapSecrets(text, () => MASK, { reach })
const open = (texts: string[]) => texts.map((text) => [text, text] as const)

describe('of a URL', () => {
  test.each([
    ['https://h.example/p?k=v', `https://h.example/p?${MASK}`],
    ['https://h.example?k=v#f', `https://h.example?${MASK}`],
    ['https://h.example/#f', `https://h.example/#${MASK}`],
    ['https://u:p@h.example/', `https://${MASK}@h.example/`],
    ['https://token@h.example/p?k=v', `https://${MASK}@h.example/p?${MASK}`],
    ['HTTP:\\\\u:p@h.example\\p', `HTTP:\\\\${MASK}@h.example\\p`],
    ['https:u:p@h.example', `https:${MASK}@h.example`],
    ['https://a@b:c@h.example', `https://${MASK}@h.example`],
    ['postgres://u:p@h.example/db', `postgres://${MASK}@h.example/db`],
    [' https://u:p@h.example', ` https://${MASK}@h.example`],
    ...open([
      'https://h.example/a@b',
      'https://h.example/?',
      'https://@h.example',
      'https://h.example:8080/p',
    ]),
    ...open(['native:agents/echo', 'native:request', 'mailto:ana@example.com', '']),
  ])('%s shows %s', (text, shown) => {
    expect(masked(text, 'url')).toBe(shown)
    // A masked text has its masks in the same places.
    expect(masked(shown, 'url')).toBe(shown)
  })
})

describe('in free-form settings', () => {
  test.each([
    ['https://h.example/p?token=1', `https://h.example/p?${MASK}`],
    ['https://h.example/p?x=3f2a9c77b1d04e5f', `https://h.example/p?${MASK}`],
    ['https://u:p@h.example/', `https://${MASK}@h.example/`],
    ...open(['https://h.example/p?page=2&sort=name', 'Ask https://h.example/p?token=1', 'What? Yes: @home']),
    ...open([
      'https://h.example/p?token=1 is where',
      'note: what? yes',
      'ana@example.com',
      'https://h.example/@ana',
    ]),
  ])('%s shows %s', (text, shown) => expect(masked(text, 'deeper')).toBe(shown))
})

test.each([
  ...['k=abc', 'key=a', 'sig=x', 'api_key=x', 'a=1&access_token=x', 'code=x', '3f2a9c77b1d04e5f', MASK].map(
    (query) => [query, true] as const,
  ),
  ...['page=2', 'w=200&h=100', 'utm_source=newsletter', 'q=how+to+order', 'key=', 'lang=pt-BR', ''].map(
    (query) => [query, false] as const,
  ),
])('the query %s looks like a key: %s', (query, does) => expect(looksLikeKey(query)).toBe(does))

describe('of a spec', () => {
  const url = 'https://u:p@h.example/v1'
  const shown = `https://${MASK}@h.example/v1`
  const specs: [string, string][] = [
    ['a list', `openapi: 3.0.0\nservers:\n  - url: ${url}\n    description: x\npaths: {}\n`],
    ['a list at its key', `servers:\n- url: ${url}\npaths: {}\n`],
    ['a list with quotes', `servers:\n  - description: x\n    url: "${url}"\n`],
    ['flow', `servers: [{url: '${url}'}]\npaths: {}\n`],
    ['servers of an operation', `paths:\n  /x:\n    get:\n      servers:\n        - url: ${url}\n`],
    ['JSON', JSON.stringify({ openapi: '3.0.0', servers: [{ description: '"', url }], paths: {} })],
    ['JSON with lines', JSON.stringify({ servers: [{ url }] }, null, 2)],
    ['a query', `servers:\n  - url: https://h.example/v1?k=v\n`],
    ['CRLF', `servers:\r\n  - url: ${url}\r\npaths: {}\r\n`],
  ]
  test.each(specs)('URLs of servers are shown without user information and query: %s', (_, spec) => {
    expect(masked(spec, 'spec')).toBe(spec.replace(url, shown).replace('?k=v', `?${MASK}`))
  })

  test.each([
    [
      'a description',
      `info:\n  description: see https://u:p@h.example or url: ${url}\nservers:\n  - url: https://h.example\n`,
    ],
    [
      'a block text',
      `info:\n  description: |\n    servers:\n      - url: ${url}\nservers:\n  - url: https://h.example\n`,
    ],
    ['a folded text', `servers:\n  - url: https://h.example\n    description: >-\n      url: ${url}\n`],
    ['a comment', `servers:\n  # url: ${url}\n  - url: https://h.example\n`],
    ['an example', `servers:\n  - url: https://h.example\npaths:\n  /x:\n    example:\n      url: ${url}\n`],
    [
      'a text of JSON',
      JSON.stringify({ info: { description: `"servers": [{"url": "${url}"}]` }, servers: [] }),
    ],
    ['an address', 'servers:\n  - url: https://h.example\ninfo:\n  contact: {email: ana@example.com}\n'],
  ])('%s is left as it is', (_, spec) => expect(masked(spec, 'spec')).toBe(spec))

  test('a large spec that is made to be slow is looked through in no time', () => {
    const size = 4 * 1024 * 1024
    const hostile = [
      `servers: [${'url: a://?'.repeat(size / 10)}`,
      `{"servers": "${'\\"'.repeat(size / 2)}`,
      `servers:${' '.repeat(size)}@`,
      `servers:\n${' url:'.repeat(size / 5)}@`,
      `servers:\n${'- \n'.repeat(size / 3)}@`,
      `{"${'["'.repeat(size / 2)} servers@`,
    ]
    for (const spec of hostile) {
      const began = performance.now()
      masked(spec, 'spec')
      expect([spec.slice(0, 20), performance.now() - began < 1_500]).toEqual([spec.slice(0, 20), true])
    }
  })
})
