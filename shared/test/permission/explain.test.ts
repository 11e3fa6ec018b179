import { describe, expect, test } from '@jest/globals'
import { validateEntry } from '@parley/shared/permission/entry'
import { explain } from '@parley/shared/permission/explain'

const account = { _id: 3, workspace: { _id: 7 } }

describe('explain', () => {
  const permissions = [
    { schema: "{{resource}} == 'users'", read: 'true', write: 'true' },
    { schema: 'true', read: '{{doc.owner}} == {{account._id}}', write: '' },
    { schema: 'true', read: '{{account.workspace._id}}', write: '{{account.' },
  ]

  test('says what every part of every entry came to', () => {
    const { entries } = explain({ permissions, resource: 'tasks', account })
    expect(entries).toMatchObject([
      { entry: 1, schema: { applies: false, reason: 'Came to false' }, read: { grants: 'all' } },
      {
        entry: 2,
        schema: { applies: true, reason: 'Came to true', expression: 'true' },
        read: { grants: 'some', reason: 'Depends on the document' },
        write: { grants: 'none', reason: 'Empty' },
      },
      {
        entry: 3,
        read: { grants: 'all', reason: 'Came to 7' },
        write: { grants: 'none', column: 1, reason: "Doesn't parse, column 1: A placeholder is {{path}}" },
      },
    ])
  })

  test('says of a part that is not there that it is null', () => {
    const [entry] = explain({ permissions: [{ schema: 'true' }], resource: 'tasks', account }).entries
    expect(entry?.read).toEqual({ expression: null, reason: 'Missing', grants: 'none' })
  })

  test.each<[string, number[], object | undefined, string]>([
    ['nothing applies', [0], undefined, 'may not read tasks, because no entry applies'],
    ['some documents', [1], undefined, 'may read some of tasks (entry 1)'],
    ['all documents', [1, 2], undefined, 'may read all of tasks (entries 1, 2)'],
    ['this document', [1], { owner: 3 }, 'may read this one of tasks (entry 1)'],
    [
      'not this document',
      [1],
      { owner: 4 },
      'may not read tasks, because no entry that applies grants it (entry 1)',
    ],
  ])('concludes in a sentence: %s', (_name, entries, doc, sentence) => {
    const chosen = entries.map((at) => permissions[at] ?? {})
    const { result } = explain({ permissions: chosen, resource: 'tasks', account, ...(doc && { doc }) })
    expect(result).toContain(`The caller ${sentence}, and may not write tasks`)
  })

  const long = (characters: number) => `'${'x'.repeat(characters - 2)}'`
  test.each<[string, unknown, string]>([
    ['a number', 7, 'Neither a string nor a boolean'],
    ['a list in JSON', ['true'], 'Neither a string nor a boolean'],
    ['blanks', '  ', 'Empty'],
    ['the JSON value true', true, 'Came to true'],
    ['the JSON value false', false, 'Came to false'],
    ['null', 'null', 'Came to null'],
    ['a path that leads nowhere', '{{account.none}}', 'Came to nothing (a path that leads nowhere)'],
    ['an object', '{{account.workspace}}', 'Came to an object'],
    ['a list', "[1, 'a', null]", 'Came to [1,"a",null]'],
    ['80 characters', long(80), `Came to "${'x'.repeat(78)}"`],
    ['81 characters', long(81), `Came to "${'x'.repeat(79)}…`],
    ['a document that there is none of', '{{doc.owner}}', 'Depends on the document'],
  ])('says what a part came to: %s', (_name, read, reason) => {
    const [entry] = explain({ permissions: [{ schema: 'true', read }], resource: 'tasks', account }).entries
    expect(entry?.read).toMatchObject({ expression: read, reason })
  })

  test.each<[string, string, 'none' | 'some', string]>([
    ['a comparison that holds', '{{doc.owner}} == {{account._id}}', 'some', 'Came to true for this document'],
    ["the workspace's id", '{{doc.workspace}}', 'some', 'Came to 7 for this document'],
    ['another value', '{{doc.owner}}', 'none', 'Came to 3 for this document'],
    ['no value', '{{doc.x}}', 'none', 'Came to nothing (a path that leads nowhere) for this document'],
  ])('says what a part came to for a document: %s', (_name, read, grants, reason) => {
    const doc = { owner: 3, workspace: 7 }
    const permissions = [{ schema: 'true', read }]
    const [entry] = explain({ permissions, resource: 'tasks', account, doc }).entries
    expect(entry?.read).toEqual({ expression: read, reason, grants })
  })

  test('shows what does not parse', () => {
    const [entry] = explain({ permissions: [{ schema: '==' }], resource: 'tasks', account }).entries
    expect(entry?.schema).toMatchObject({ expression: '==', column: 1, applies: false })
  })

  test('says what a comparison came to for a document', () => {
    const [entry] = explain({
      permissions: [permissions[1] ?? {}],
      resource: 'tasks',
      account,
      doc: {},
    }).entries
    expect(entry?.read).toMatchObject({ grants: 'none', reason: 'Came to false for this document' })
  })
})

describe('validateEntry', () => {
  test.each<[string, object, [string, number][]]>([
    ['a stored entry', { schema: "['users'].indexOf({{resource}}) < 0", read: '7', write: '' }, []],
    ['booleans', { schema: true, read: false, write: true }, []],
    ['read and write left out', { schema: 'true', read: null }, []],
    ['blanks', { schema: ' ', read: '  ' }, []],
    ['a document in read and write', { schema: 'true', read: '{{doc.x}} == 1', write: '!{{doc.y}}' }, []],
    [
      'an error in each',
      { schema: '==', read: '1 +', write: 'a' },
      [
        ['/schema', 1],
        ['/read', 3],
        ['/write', 1],
      ],
    ],
    ['a number', { schema: 'true', read: 7 }, [['/read', 1]]],
    ['a document in the schema', { schema: 'true && {{doc.x}} == 1' }, [['/schema', 9]]],
  ])('%s', (_name, entry, expected) => {
    expect(validateEntry(entry).map(({ path, column }) => [path, column])).toEqual(expected)
  })

  test('says what is wrong', () => {
    expect(validateEntry({ schema: "'a' in {{doc.tags}}", read: {} }).map(({ message }) => message)).toEqual([
      'schema selects resources, so it has no doc',
      'Must be an expression in a string, true or false',
    ])
  })
})
