import { describe, expect, test } from '@jest/globals'
import { covers } from '@parley/shared/permission/covers'
import { decide } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES, type PermissionEntry } from '@parley/shared/permission/entry'
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
    ...[
      '{{account._id}} == {{doc.owner}} && {{doc.open}} == true',
      '{{account._id}} in {{doc.owners}} || {{doc.profiles}}.includes({{account.profile}})',
    ].map((read): [string, PermissionEntry[], PermissionEntry[]] => [
      `an entry of theirs that selects documents by whose they are, as ${read}`,
      [{ schema: one, read }],
      [{ schema: one, read }],
    ]),
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

test('the own account is granted what an entry that looks at who has it gives it anyway', () => {
  const entry = { schema: one, read: '{{doc.owner}} != {{account._id}}' }
  expect(covers(grantor(entry), [entry])).toBe(false)
  expect(covers(grantor(entry), [entry], ACCOUNT)).toBe(true)
})

test('what entries look at of an account is compared once, however often they name it', () => {
  let reads = 0
  const account = {
    ...ACCOUNT,
    get context() {
      reads++
      return { teams: Array.from({ length: 500 }, (_, n) => n) }
    },
  }
  const often = Array.from({ length: 150 }, () => '{{account.context}} == 1').join(' || ')
  const permissions = [{ schema: one, read: often, write: often }]
  expect(covers({ permissions, account }, permissions, account)).toBe(true)
  expect(reads).toBeLessThan(10)
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
    ...[
      '{{account._id}} != {{doc.owner}}',
      '!({{doc.owner}} == {{account._id}})',
      '{{doc.owner}} < {{account._id}}',
      '{{account._id}} == 6',
      '({{doc.owner}} == {{account._id}}) == false',
      "({{doc.owner}} == {{account._id}} && 'no') || true",
      '[6].includes({{account._id}})',
    ].map((read): [string, PermissionEntry[], PermissionEntry[]] => [
      `an entry of theirs that may mean more for another id, as ${read}`,
      [{ schema: one, read }],
      [{ schema: one, read }],
    ]),
    [
      'an entry of theirs whose schema looks at the id',
      [{ schema: '{{account._id}} == 2', read: 'doc.a' }],
      [{ schema: '{{account._id}} == 2', read: 'doc.a' }],
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

describe('somebody may let an account that is known have', () => {
  const team = { schema: one, read: '{{doc.team}} == {{account.context.team}}' }
  const named = { schema: one, read: "{{account.name}}.startsWith('Lead ')" }
  const free = { schema: '!{{account.context.restricted}}', read: ALL }
  const giver = (context: object, ...permissions: PermissionEntry[]) => ({
    permissions,
    account: { ...ACCOUNT, context },
  })

  test.each([
    [
      'an entry that looks at the same of both',
      giver({ team: 'one' }, team),
      { context: { team: 'one', more: 1 } },
      team,
    ],
    ['an entry that gives it nothing', giver({ team: 'one' }, team), { context: {} }, team],
    ['an entry by its name that gives it nothing', grantor(named), { name: 'Bob' }, named],
    [
      'what they have whole, whatever it has of it',
      giver({}, { schema: 'true', read: ALL }),
      { context: {} },
      team,
    ],
    [
      'an entry that means for both what it says of the role',
      grantor({ schema: "{{account.role.name}} == 'MEMBER'", read: 'doc.a' }),
      { role: ACCOUNT.role },
      { schema: "{{account.role.name}} == 'MEMBER'", read: 'doc.a' },
    ],
  ])('%s', (_what, having, account, entry) => {
    expect(covers(having, [entry], { workspace: ACCOUNT.workspace, ...account })).toBe(true)
  })

  test.each([
    ['that means another thing for it', giver({ team: 'one' }, team), { context: { team: 'two' } }, team],
    [
      'that gives more without what their context has',
      giver({ restricted: true }, free),
      { context: {} },
      free,
    ],
    ['that gives more for its name', grantor(named), { name: 'Lead Bob' }, named],
    ['by what is not known of it', giver({ team: 'one' }, team), { name: 'Bob' }, team],
  ])('but no entry %s', (_what, having, account, entry) => {
    expect(covers(having, [entry], { workspace: ACCOUNT.workspace, ...account })).toBe(false)
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
  const part = fc.constantFrom(
    ...['', 'true', ALL, 'doc.a == 1', 'doc.a == account._id', "account.name == 'ab'"],
    ...[
      'doc.a != account._id',
      "(doc.a == account._id && 'x') || true",
      'account._id == 2',
      'account._id < doc.a',
      '!account.context.flag',
    ],
  )
  const schema = fc.constantFrom(
    ...['true', 'false', "resource == 'users'", "resource != 'users'", "resource in ['users', 'channels']"],
    ...["account.role.name == 'X'", "account.context.flag && resource == 'channels'", 'account._id != 2'],
  )
  const role = fc.array(fc.record({ schema, read: part, write: part }), { maxLength: 3 })
  const other = { ...ACCOUNT, _id: 99, role: { _id: 9, name: 'X' }, context: {} }
  const accounts = fc.constantFrom(ACCOUNT, other, { ...ACCOUNT, _id: 99 })
  const resources = fc.constantFrom('users', 'channels', 'other')
  fc.assert(
    fc.property(role, role, accounts, fc.boolean(), resources, (mine, given, to, isKnown, resource) => {
      const giver = { permissions: mine, account: ACCOUNT }
      fc.pre(isKnown ? covers(giver, given, to) : covers(giver, given))
      for (const access of ['read', 'write'] as const) {
        const got = decide({ permissions: given, resource, account: to, access })
        const had = decide({ permissions: mine, resource, account: ACCOUNT, access })
        // No document is that of `other`: what names an account is theirs to see.
        for (const doc of [{ a: 1 }, { a: 2 }, { a: 100 }, {}]) {
          const sees = (decision: typeof got) =>
            decision.kind === 'all' || (decision.kind === 'some' && decision.test(doc))
          expect(sees(got) && !sees(had)).toBe(false)
        }
      }
    }),
    { numRuns: 3_000 },
  )
})
