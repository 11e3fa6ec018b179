import { expect, test } from '@jest/globals'
import { RULED_RESOURCES } from '@parley/shared/permission/ruled-resources'
import { operations } from '../../docs/permission-operations.ts'

test('the resources that roles are compared by are those that a role decides about', () => {
  const decided = operations.filter(({ access }) => access === 'read' || access === 'write')
  expect(new Set(RULED_RESOURCES)).toEqual(new Set(decided.map(({ resource }) => resource)))
  expect(new Set(RULED_RESOURCES).size).toBe(RULED_RESOURCES.length)
})
