import { describe, expect, test } from '@jest/globals'
import { roundRobin } from '../src/internal-client.ts'

const urls = ['http://a', 'http://b', 'http://c'].map((url) => new URL(url))
const hosts = (targets: ReturnType<typeof roundRobin>) =>
  Array.from({ length: 6 }, () => targets.next().host)
    .toSorted()
    .join('')

describe('targets by round robin', () => {
  test('each has its turn; one that could not be reached is left out for 2 s', () => {
    let now = 0
    const targets = roundRobin(urls, () => now)
    expect(hosts(targets)).toBe('aabbcc')
    targets.suspect(new URL('http://b/some/path'))
    expect(hosts(targets)).toBe('aaaccc')
    now = 2_000
    expect(hosts(targets)).toBe('aabbcc')
  })

  test('there is one even when none could be reached', () => {
    const targets = roundRobin(urls, () => 0)
    for (const url of urls) targets.suspect(url)
    expect(hosts(targets)).toBe('aabbcc')
  })
})
