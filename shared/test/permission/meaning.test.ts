import { beforeAll, describe, expect, test } from '@jest/globals'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { decide } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES, type PermissionEntry, validateEntry } from '@parley/shared/permission/entry'
import { comesTo, connectDocuments, type Doc, found } from './ask.ts'

const ACCOUNT = {
  _id: 3,
  username: 'ana@example.com',
  profile: 5,
  workspace: { _id: 7, namespace: 'acme', status: 'active' },
  role: { _id: 2, name: 'MEMBER' },
  context: { team: 'sales', teams: ['sales', 'support'], level: 2, none: null },
}

const documents = startedForTests(() => connectDocuments())

function kind(entry: { schema?: unknown; read?: unknown }, resource = 'channels') {
  return decide({ permissions: [entry], resource, account: ACCOUNT, access: 'read' }).kind
}

describe('schema selects resources', () => {
  test.each<[string, unknown, string, 'all' | 'none']>([
    ['true, any resource', 'true', 'channels', 'all'],
    ['the JSON value true', true, 'channels', 'all'],
    ['the JSON value false', false, 'channels', 'none'],
    ['false', 'false', 'channels', 'none'],
    [
      'the stored exclusion list, another resource',
      "['users','roles'].indexOf({{resource}}) < 0",
      'channels',
      'all',
    ],
    [
      'the stored exclusion list, a listed one',
      "['users','roles'].indexOf({{resource}}) < 0",
      'users',
      'none',
    ],
    ['an inclusion list', "['channels'].includes({{resource}})", 'channels', 'all'],
    ['an inclusion list, another resource', "['channels'].includes({{resource}})", 'tasks', 'none'],
    ['in', "{{resource}} in ['channels', 'tasks']", 'tasks', 'all'],
    ['in, another resource', "{{resource}} in ['channels', 'tasks']", 'jobs', 'none'],
    ['equality', "{{resource}} == 'channels'", 'channels', 'all'],
    ['strict equality', "{{ resource }} === 'channels'", 'channels', 'all'],
    ['inequality', "{{resource}} != 'channels'", 'channels', 'none'],
    ['a bare path', "resource == 'channels'", 'channels', 'all'],
    ['a beginning', "{{resource}}.startsWith('chan')", 'channels', 'all'],
    ['a part of the name', "{{resource}}.indexOf('nel') >= 0", 'channels', 'all'],
    ['either', "{{resource}} == 'tasks' || {{resource}} == 'channels'", 'channels', 'all'],
    [
      'a condition on the account',
      "{{account.context.level}} >= 2 && {{resource}} != 'users'",
      'channels',
      'all',
    ],
    ['true, but not the boolean: a string', "'true'", 'channels', 'none'],
    ['true, but not the boolean: a number', '1', 'channels', 'none'],
    ['true, but not the boolean: a list', '[true]', 'channels', 'none'],
    ['true, but not the boolean: the name', '{{resource}}', 'channels', 'none'],
    ['the empty string', '', 'channels', 'none'],
    ['left out', undefined, 'channels', 'none'],
    ['null', null, 'channels', 'none'],
    ['an object', {}, 'channels', 'none'],
    ['the number 1 in JSON', 1, 'channels', 'none'],
    ['a syntax error', '{{resource}} ==', 'channels', 'none'],
    ['a document where there is none', '{{doc.status}} == 1', 'channels', 'none'],
    ['the placeholder as text', "'{{resource}}' == 'channels'", 'channels', 'none'],
    ["a resource's name is never pasted as text", "{{resource}} == 'x'", "x' || true || '", 'none'],
  ])('%s', (_name, schema, resource, expected) => {
    expect(kind({ schema, read: 'true' }, resource)).toBe(expected)
  })
})

describe('read and write grant', () => {
  test.each<[string, unknown, 'all' | 'some' | 'none']>([
    ["the workspace's id", '{{account.workspace._id}}', 'all'],
    ["the workspace's id as a number", '7', 'all'],
    ['another number', '8', 'none'],
    ["the caller's own id", '{{account._id}}', 'none'],
    ["the workspace's id as a string", "'7'", 'none'],
    ["a list holding the workspace's id", '[1, {{account.workspace._id}}]', 'all'],
    ['a list of other ids', '[1, 2]', 'none'],
    ['a list in a list', '[[7]]', 'none'],
    ['a list holding true', '[true]', 'none'],
    ['true', 'true', 'all'],
    ['the JSON value true', true, 'all'],
    ['the JSON value false', false, 'none'],
    ['a comparison that holds', '{{account.role.name}} == "MEMBER"', 'all'],
    ['a comparison that does not', "{{account.role.name}} == 'VIEWER'", 'none'],
    ['&& gives its last value', '{{account.context.level}} && {{account.workspace._id}}', 'all'],
    ['|| gives its first true value', '{{account.context.none}} || {{account.workspace._id}}', 'all'],
    ['|| gives its first true value, which grants nothing', "'x' || true", 'none'],
    ['false', 'false', 'none'],
    ['left out', undefined, 'none'],
    ['null in JSON', null, 'none'],
    ['null', 'null', 'none'],
    ['the empty string', '', 'none'],
    ['blanks', '  ', 'none'],
    ['an empty string literal', "''", 'none'],
    ['an empty list', '[]', 'none'],
    ['an object', '{{account.workspace}}', 'none'],
    ['an object in JSON', { $gt: '' }, 'none'],
    ["the workspace's id as a JSON number", 7, 'none'],
    ['a path that leads nowhere', '{{account.workspace.id}}', 'none'],
    ['two paths that lead nowhere are not equal', '{{account.x}} == {{account.y}}', 'none'],
    ['a missing value is not null', '{{account.x}} == null', 'none'],
    ['a missing value is not true', '!{{account.x}}', 'all'],
    ['null is null', '{{account.context.none}} == null', 'all'],
    ['no type is coerced: number and string', "1 == '1'", 'none'],
    ['no type is coerced: boolean and number', 'true == 1', 'none'],
    ['numbers in order', '-1 < 1.5', 'all'],
    ['strings in order', "'a' < 'b' && 'B' < 'a'", 'all'],
    ['strings in the order of code points', "'\ufb00' < '\u{1f600}'", 'all'],
    ['no order between types', "1 < '2' || '1' < 2 || null < 1 || null >= null", 'none'],
    ['a list equals nothing', '[1] == [1]', 'none'],
    ['&& before ||', 'true || true && false', 'all'],
    ['parentheses', '(true || true) && false', 'none'],
    ['! binds closest', '!false == true', 'all'],
    ['order before equality', '1 < 2 == true', 'all'],
    ["a comparison over the document's field", '{{doc.owner}} == {{account._id}}', 'some'],
    ['a document field, known beforehand to match', 'true || {{doc.owner}} == 1', 'all'],
    ['a document field, known beforehand to fail', 'false && {{doc.owner}} == 1', 'none'],
    ['a document field against an object', '{{doc.owner}} == {{account.workspace}}', 'none'],
    ['the whole document', '{{doc}}', 'none'],
    ['a syntax error', '{{account.workspace._id', 'none'],
  ])('%s', (_name, read, expected) => {
    expect(kind({ schema: 'true', read })).toBe(expected)
  })
})

describe('documents', () => {
  const mine = {
    _id: 1,
    owner: 3,
    status: 'active',
    tags: ['a', 'b'],
    config: { team: 'sales', list: [{ x: 1 }] },
  }

  test.each<[string, string, object, boolean]>([
    ["the caller's own", '{{doc.owner}} == {{account._id}}', mine, true],
    ["another's", '{{doc.owner}} == {{account._id}}', { ...mine, owner: 4 }, false],
    ['no owner', '{{doc.owner}} == {{account._id}}', {}, false],
    ['not, where there is none', '{{doc.owner}} != {{account._id}}', {}, true],
    ['a list is not its member', "{{doc.tags}} == 'a'", mine, false],
    ['a list holds its member', "{{doc.tags}}.includes('a')", mine, true],
    ['a member in a list', "'b' in {{doc.tags}}", mine, true],
    ['in looks into lists only', "'a' in {{doc.status}}", mine, false],
    ['a string holds its part', "{{doc.status}}.includes('act')", mine, true],
    ['pattern characters are plain', "{{doc.status}}.startsWith('.')", mine, false],
    ['a nested field', '{{doc.config.team}} == {{account.context.team}}', mine, true],
    ["one of the account's", '{{doc.config.team}} in {{account.context.teams}}', mine, true],
    [
      "the account's list holds it",
      '{{account.context.teams}}.indexOf({{doc.config.team}}) >= 0',
      mine,
      true,
    ],
    ['no path leads into a list', '{{doc.config.list.x}} == 1', mine, false],
    ['a list has no length', '{{doc.tags.length}} == 2', mine, false],
    ['a missing field is neither found nor not found', "{{doc.none}}.indexOf('a') < 0", mine, false],
    ['a missing field includes nothing', "!{{doc.none}}.includes('a')", mine, true],
    ['two fields', '{{doc.owner}} == {{doc._id}}', { _id: 3, owner: 3 }, true],
    ['two missing fields', '{{doc.a}} == {{doc.b}}', {}, false],
    ['null is not missing', '{{doc.a}} == null', {}, false],
    ['null', '{{doc.a}} == null', { a: null }, true],
    ['a date is no string', "{{doc.at}} > '2020'", { at: new Date() }, false],
    ["a field that holds the workspace's id", '{{doc.shared}}', { shared: 7 }, true],
    ["a list field that holds the workspace's id", '{{doc.shared}}', { shared: [1, 7] }, true],
    ['an own field named constructor', "{{doc.constructor}} == 'x'", { constructor: 'x' }, true],
    ['no inherited field', '!{{doc.constructor}} && !{{doc.toString.name}}', {}, true],
    ['some of the list of fields', '[{{doc.owner}}, {{doc.helper}}].includes({{account._id}})', mine, true],
  ])('%s', async (_name, read, doc, expected) => {
    const permissions = [{ schema: 'true', read }]
    const decision = decide({ permissions, resource: 'tasks', account: ACCOUNT, access: 'read' })
    expect(decision.kind === 'some' && decision.test(doc)).toBe(expected)
    const stored = await documents.store([doc])
    const ids = stored.docs.map(({ _id }) => _id)
    expect(await found({ source: read, account: ACCOUNT }, stored)).toEqual(expected ? ids : [])
  })
})

describe('an expression comes to the value that JavaScript would give, where it is not stricter', () => {
  const doc = {
    ...{
      one: 1,
      none: null,
      empty: '',
      no: false,
      zero: 0,
      nan: Number.NaN,
      text: 'a\u{1f600}bb',
      at: new Date(7),
    },
    list: [1, 'a', null, { x: 1 }, [1], 'a'],
    deep: { list: [{ x: 1 }], x: { y: 2 } },
    bare: Object.assign(Object.create(null), { x: 3 }),
    made: Object.assign(Object.create({ x: 4 }), { y: 5 }),
  }
  let stored: Awaited<ReturnType<typeof documents.store>>
  beforeAll(async () => {
    stored = await documents.store([doc])
  })

  test.each<[string, unknown]>([
    ['doc.one', 1],
    ['{{resource}}', 'jobs'],
    ['account._id', 3],
    ['{{doc.deep}}.x.y', 2],
    ['-1.5', -1.5],
    ['[doc.one, doc.missing, [doc.none]]', [1, undefined, [null]]],
    ['!doc.one', false],
    ['!doc.list', false],
    ['!doc.deep', false],
    ...['none', 'empty', 'no', 'zero', 'nan', 'missing'].map((name): [string, unknown] => [
      `!doc.${name}`,
      true,
    ]),
    ['doc.one && doc.none && doc.text', null],
    ["doc.one && 'a' && doc.list.x", undefined],
    ["doc.one && 'a'", 'a'],
    ["doc.none || 0 || 'a' || 'b'", 'a'],
    ["doc.none || ''", ''],
    ['0 && 1 == 0', 0],
    ['1 || 0 && 0', 1],
    ['true == 1 < 2', true],
    ['1 < 2 != true', false],
    ['1 < 2', true],
    ['2 < 2', false],
    ['2 <= 2', true],
    ['3 <= 2', false],
    ['2 > 2', false],
    ['3 > 2', true],
    ['2 >= 2', true],
    ['1 >= 2', false],
    ["'a' < 'b'", true],
    ["'a' < 'a'", false],
    ["'a' <= 'a'", true],
    ["'a' < 'ab'", true],
    ["'ab' <= 'a'", false],
    ["'b' > 'ab'", true],
    ["'a' >= 'b'", false],
    ["'1' < 2", false],
    ['doc.none < 1', false],
    ['doc.none >= doc.none', false],
    ['doc.at >= doc.at', false],
    ['doc.nan == doc.nan', false],
    ['doc.missing == doc.missing', false],
    ['doc.none == null', true],
    ['doc.list == doc.list', false],
    ["doc.list.indexOf('a')", 1],
    ['doc.list.indexOf(null)', 2],
    ['doc.list.indexOf(2)', -1],
    ['doc.list.indexOf([1])', -1],
    ['doc.list.includes(1)', true],
    ['doc.list.includes(2)', false],
    ['doc.list.includes(doc.missing)', false],
    ["doc.list.startsWith('a')", undefined],
    ["doc.text.indexOf('a')", 0],
    ["doc.text.indexOf('\u{1f600}')", 1],
    ["doc.text.indexOf('b')", 2],
    ["doc.text.indexOf('')", 0],
    ["doc.text.indexOf('x')", -1],
    ['doc.text.indexOf(1)', -1],
    ["doc.text.includes('bb')", true],
    ["doc.text.includes('x')", false],
    ['doc.text.includes(1)', false],
    ["doc.text.startsWith('a')", true],
    ["doc.text.startsWith('b')", false],
    ['doc.text.startsWith(1)', false],
    ["doc.one.includes('1')", undefined],
    ["doc.deep.indexOf('x')", undefined],
    ["'x' in doc.deep", false],
    ["'a' in doc.text", false],
    ["'a' in doc.list", true],
    ["'b' in doc.list", false],
    ['1 in doc.list', true],
  ])('%s', async (source, expected) => {
    const account = { _id: 3 }
    expect(comesTo({ source, account, resource: 'jobs' }, doc as Doc)).toStrictEqual(expected)
    // Nothing is equal to what is not there, nor to a list; and no JSON, so no stored document, has a NaN.
    const isComparable = expected !== undefined && !Array.isArray(expected) && !source.includes('nan')
    const asked = { source: `(${source}) == ${JSON.stringify(expected)}`, account, resource: 'jobs' }
    if (isComparable) expect(await found(asked, stored)).toEqual([0])
  })
})

describe('entries together', () => {
  const own = { schema: 'true', read: '{{doc.owner}} == 3' }
  const active = { schema: 'true', read: "{{doc.status}} == 'active'" }
  const decideRead = (permissions: { schema: string; read: string }[], account: object = ACCOUNT) =>
    decide({ permissions, resource: 'tasks', account, access: 'read' })

  test('are a union', () => {
    const decision = decideRead([own, active])
    expect(decision).toMatchObject({ kind: 'some', filter: { $or: [expect.anything(), expect.anything()] } })
    const test = decision.kind === 'some' ? decision.test : () => false
    expect([{ owner: 3 }, { status: 'active' }, { owner: 4, status: 'x' }].map(test)).toEqual([
      true,
      true,
      false,
    ])
  })

  test('grant everything when one does', () => {
    expect(decideRead([own, { schema: 'true', read: '7' }])).toEqual({ kind: 'all' })
  })

  test('grant nothing when none applies or none is there', () => {
    expect(decideRead([{ ...own, schema: 'false' }])).toEqual({ kind: 'none' })
    expect(decideRead([])).toEqual({ kind: 'none' })
  })

  test('read and write are apart', () => {
    const question = { permissions: [{ schema: 'true', read: 'true' }], resource: 'tasks', account: ACCOUNT }
    expect(decide({ ...question, access: 'read' }).kind).toBe('all')
    expect(decide({ ...question, access: 'write' }).kind).toBe('none')
  })

  test('an account without a workspace gets nothing by id', () => {
    for (const account of [{}, { workspace: {} }, { workspace: { _id: 0 } }, { workspace: { _id: null } }]) {
      expect(decideRead([{ schema: 'true', read: '{{account.workspace._id}}' }], account).kind).toBe('none')
      expect(decideRead([{ schema: 'true', read: '0' }], account).kind).toBe('none')
    }
  })

  test('a field compared with a constant is a condition that an index can serve', () => {
    expect(decideRead([own])).toMatchObject({ filter: { owner: { $eq: 3, $not: { $type: 'array' } } } })
  })
})

describe('default roles', () => {
  const RESOURCES = ['channels', 'assistant', 'users', 'roles', 'tokens', 'audit', 'messages', 'workspaces']
  const may = (name: string, access: 'read' | 'write') => {
    const permissions = DEFAULT_ROLES.find((role) => role.name === name)?.permissions ?? []
    return RESOURCES.filter(
      (resource) => decide({ permissions, resource, account: ACCOUNT, access }).kind === 'all',
    )
  }
  const ordinary = ['channels', 'assistant', 'messages', 'workspaces']

  test.each([
    ['WORKSPACE_ADMIN', RESOURCES, RESOURCES],
    ['MEMBER', ordinary, ordinary],
    ['VIEWER', ordinary, []],
    ['PROVIDER', [], ['messages']],
  ])('%s', (name, read, write) => {
    expect({ read: may(name, 'read'), write: may(name, 'write') }).toEqual({ read, write })
  })

  test('can be saved again as they are, every part a string', () => {
    const entries = DEFAULT_ROLES.flatMap(({ permissions }): readonly PermissionEntry[] => permissions)
    for (const entry of entries) {
      expect(validateEntry(entry)).toEqual([])
      expect(Object.entries(entry).map(([part, value]) => [part, typeof value])).toEqual([
        ['schema', 'string'],
        ['read', 'string'],
        ['write', 'string'],
      ])
    }
  })
})
