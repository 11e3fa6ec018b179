import { expect, test } from '@jest/globals'
import { MASK } from '@parley/shared/secret-names'
import { bodyBefore } from '../src/deleted.ts'

test('a deletion is undone by what it took away', () => {
  const changes = [
    { path: '/name', before: 'Line' },
    { path: '/config', before: { accessToken: 'secret' } },
    { path: '/next', before: null },
  ]
  expect(bodyBefore({ changes })).toEqual({ name: 'Line', config: { accessToken: 'secret' }, next: null })
})

test.each([
  ['whose changes are not known', null],
  ['whose values were too large, or are erased', [{ path: '/context' }]],
])('one %s can not be undone', (_which, changes) => {
  expect(() => bodyBefore({ changes })).toThrow('does not have what it was')
})

test.each([
  { config: { accessToken: MASK } },
  `https://example.com/hook?token=${MASK}`,
  [{ headers: { 'x-api-key': MASK } }],
])('a secret that is masked is not restored as its mask: %j', (before) => {
  expect(() =>
    bodyBefore({
      changes: [
        { path: '/name', before: 'Line' },
        { path: '/x', before },
      ],
    }),
  ).toThrow('hides its secrets')
})
