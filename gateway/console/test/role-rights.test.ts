import { expect, test } from '@jest/globals'
import { RULED_RESOURCES } from '@parley/shared/configuration-resources'
import { allows, decide } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES, validateEntry } from '@parley/shared/permission/entry'
import fc from 'fast-check'
import { type Entry, entriesOf, rightsOf } from '../src/role-rights.ts'

const account = { _id: 7, workspace: { _id: 3 } }
const DOCUMENTS = [{ owner: 7 }, { owner: 8, channel: 'line' }]

/** Returns the grants that result from entries, for each resource and document. */
function granted(permissions: readonly Entry[]) {
  return RULED_RESOURCES.flatMap((resource) =>
    (['read', 'write'] as const).map((access) => {
      const decision = decide({ permissions, resource, account, access })
      return [resource, access, decision.kind === 'all', ...DOCUMENTS.map((one) => allows(decision, one))]
    }),
  )
}

const right = fc.record({
  ...{ read: fc.boolean(), write: fc.boolean() },
  which: fc.constantFrom('', '{{doc.owner}} == {{account._id}}', "{{doc.channel}} == 'line'"),
})
const rights = fc.record(Object.fromEntries(RULED_RESOURCES.map((name) => [name, right])))

test('the entries that check boxes come to grant just that, and are read as the same check boxes', () => {
  fc.assert(
    fc.property(rights, (checked) => {
      const entries = entriesOf({ rights: checked, others: [] })
      expect(entries.flatMap(validateEntry)).toEqual([])
      const read = rightsOf(entries)
      expect(read.others).toEqual([])
      for (const [name, { read: mayRead, write: mayWrite, which }] of Object.entries(checked))
        expect(read.rights[name]).toEqual({
          ...{ read: mayRead, write: mayWrite },
          which: mayRead || mayWrite ? which : '',
        })
      for (const [resource, access, isAll] of granted(entries)) {
        const { which, ...boxes } = checked[resource as string] as {
          read: boolean
          write: boolean
          which: string
        }
        expect([resource, access, isAll]).toEqual([resource, access, boxes[access as 'read'] && which === ''])
      }
    }),
  )
})

test.each(DEFAULT_ROLES.map((role) => [role.name, role.permissions] as const))(
  'the role %s is shown as check boxes alone, and grants the same when it is saved',
  (_name, permissions) => {
    const read = rightsOf(permissions)
    expect(read.others).toEqual([])
    expect(granted(entriesOf(read))).toEqual(granted(permissions))
  },
)

test('what check boxes can not say stays as it was written', () => {
  const entries: Entry[] = [
    { schema: "{{resource}}.startsWith('mess')", read: 'true', write: '' },
    { schema: "{{resource}} == 'messages'", read: 'true', write: "{{doc.channel}} == 'line'" },
    { schema: "{{resource}} == 'threads'", read: 'true', write: '' },
    { schema: "{{resource}} == 'threads'", read: '', write: '{{doc.owner}} == {{account._id}}' },
  ]
  const read = rightsOf(entries)
  expect(read.others).toEqual([entries[0], entries[1], entries[3]])
  expect(granted(entriesOf(read))).toEqual(granted(entries))
})
