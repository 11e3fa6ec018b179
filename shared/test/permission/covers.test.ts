import { describe, expect, test } from '@jest/globals'
import { covers } from '@parley/shared/permission/covers'
import { decide, type PermissionEntry } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES } from '@parley/shared/permission/entry'
import fc from 'fast-check'
import { ACCOUNT } from './arbitraries.ts'

const ALL = '{{account.workspace._id}}'
const grantor = (...permissions: PermissionEntry[]) => ({ permissions, account: ACCOUNT })
const entriesOf = (name: string) => [...(DEFAULT_ROLES.find((role) => role.name === name)?.permissions ?? [])]

describe('of the roles that a workspace is made with', () => {
  test.each([
    ['WORKSPACE_ADMIN', ['WORKSPACE_ADMIN', 'MEMBER', 'VIEWER', 'PROVIDER']],
    ['MEMBER', ['MEMBER', 'VIEWER', 'PROVIDER']],
    ['VIEWER', ['VIEWER']],
    ['PROVIDER', ['PROVIDER']],
  ])('%s may grant %j', (giver, expected) => {
    const given = DEFAULT_ROLES.filter(({ permissions }) => covers(grantor(...entriesOf(giver)), permissions))
    expect(given.map(({ name }) => name)).toEqual(expected)
  })
})

const one = "{{resource}} == 'orders'"
const own = { schema: one, read: '{{doc.owner}} == {{account._id}}', write: '' }

describe('somebody may grant', () => {
  test.each([
    ['what denies', [], [{ schema: 'true', read: '', write: 'false' }]],
    ['what does not parse', [], [{ schema: 'true', read: '1 +' }]],
    ['what never applies', [], [{ schema: 'false', read: 'true' }]],
    ['an entry that they have', [own], [own]],
    ['an entry that they have, written with other spaces', [own], [{ ...own, schema: ` ${one} ` }]],
    ['a condition on what they have whole', [{ schema: one, read: ALL }], [own]],
    [
      'one of several resources',
      [{ schema: "{{resource}} in ['orders', 'bills']", read: 'true' }],
      [{ schema: one, read: ALL }],
    ],
    [
      'by an entry that looks at the role, if they have all of the resource anyway',
      [{ schema: 'true', read: ALL }],
      [{ schema: "{{account.role.name}} == 'x'", read: ALL }],
    ],
  ])('%s', (_what, permissions, granted) => {
    expect(covers(grantor(...permissions), granted)).toBe(true)
  })
})

describe('nobody may grant', () => {
  test.each([
    ['what they do not have', [], [own]],
    ['a write where they read', [{ schema: one, read: ALL }], [{ schema: one, write: ALL }]],
    [
      'everything where they have one resource',
      [{ schema: one, read: ALL }],
      [{ schema: 'true', read: ALL }],
    ],
    [
      'a resource that has no name yet, where they have all that have one',
      [{ schema: "{{resource}} != 'new'", read: ALL }],
      [{ schema: "{{resource}} == 'new'", read: ALL }],
    ],
    ['another condition than theirs', [own], [{ ...own, read: '{{doc.owner}} != {{account._id}}' }]],
    [
      'an entry of theirs that another role than theirs would make apply',
      [{ schema: "{{account.role.name}} == 'BOSS'", read: ALL, write: ALL }],
      [{ schema: "{{account.role.name}} == 'BOSS'", read: ALL, write: ALL }],
    ],
    [
      'what depends on a context that they do not have',
      [{ schema: one, read: ALL }],
      [{ schema: '{{account.context.level}} == 9', read: ALL }],
    ],
  ])('%s', (_what, permissions, granted) => {
    expect(covers(grantor(...permissions), granted)).toBe(false)
  })
})

describe('comparing roles costs no more than its budget', () => {
  const namesFrom = (at: number, count: number) =>
    `[${Array.from({ length: count }, (_, of) => `'${(at * count + of).toString(36)}'`).join(',')}]`
  /** A hundred entries that each name as many resources of their own, and search long lists. */
  const costly = Array.from({ length: 100 }, (_, at) => ({
    schema: `{{resource}} in ${namesFrom(at, 250)}`,
    read: `${namesFrom(at, 250)}.includes(doc.a)`,
    write: `${namesFrom(at, 250)}.includes(doc.b)`,
  }))
  const large = Array.from({ length: 100 }, (_, at) => ({
    schema: `{{resource}} in ${namesFrom(at % 5, 20)}`,
    read: `{{doc.owner}} == {{account._id}} && ${at} == ${at}`,
    write: ALL,
  }))

  test('so that what takes more to compare is not covered', () => {
    expect(covers(grantor(...entriesOf('MEMBER')), costly)).toBe(false)
  })

  test('and a large ordinary role takes less', () => {
    expect(covers(grantor(...entriesOf('MEMBER')), large)).toBe(true)
    expect(covers(grantor(...large), large.slice(50))).toBe(true)
  })

  test('and whoever has everything may grant any role, without a comparison', () => {
    expect(covers(grantor(...entriesOf('WORKSPACE_ADMIN')), costly)).toBe(true)
    expect(covers(grantor(...costly, ...entriesOf('WORKSPACE_ADMIN')), costly)).toBe(true)
  })
})

test('whoever gets a role that was covered sees nothing that the giver does not', () => {
  const part = fc.constantFrom('', 'true', ALL, 'doc.a == 1', 'doc.a == account._id', "account.name == 'ab'")
  const schema = fc.constantFrom(
    ...['true', 'false', "resource == 'users'", "resource != 'users'", "resource in ['users', 'channels']"],
    ...["account.role.name == 'X'", "account.context.flag && resource == 'channels'"],
  )
  const role = fc.array(fc.record({ schema, read: part, write: part }), { maxLength: 3 })
  const accounts = fc.constantFrom(ACCOUNT, { ...ACCOUNT, role: { _id: 9, name: 'X' }, context: {} })
  fc.assert(
    fc.property(
      role,
      role,
      accounts,
      fc.constantFrom('users', 'channels', 'other'),
      (mine, given, to, resource) => {
        const giver = { permissions: mine, account: ACCOUNT }
        fc.pre(covers(giver, given))
        for (const access of ['read', 'write'] as const) {
          const got = decide({ permissions: given, resource, account: to, access })
          // An entry of one's own means for another account what it means for that account.
          const had = [ACCOUNT, to].map((account) => decide({ permissions: mine, resource, account, access }))
          for (const doc of [{ a: 1 }, { a: 2 }, {}]) {
            const sees = (decision: typeof got) =>
              decision.kind === 'all' || (decision.kind === 'some' && decision.test(doc))
            expect(sees(got) && !had.some(sees)).toBe(false)
          }
        }
      },
    ),
    { numRuns: 3_000 },
  )
})
