import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { allResources } from '@parley/configuration/resources/all-resources'
import { RULED_RESOURCES } from '@parley/shared/configuration-resources'
import { BY_REFERENCE } from '@parley/shared/permission/by-reference'
import { operations } from '../../docs/permission-operations.ts'
import { renderPermissionsPage } from '../../docs/permissions-page.ts'

test('docs/permissions.md is what npm run docs writes', () => {
  const page = readFileSync(new URL('../../docs/permissions.md', import.meta.url), 'utf8')
  expect(page).toBe(renderPermissionsPage(page))
})

test('the resources that roles are compared by are those that a role decides about', () => {
  const decided = operations.filter(({ access }) => access === 'read' || access === 'write')
  expect(new Set(RULED_RESOURCES)).toEqual(new Set(decided.map(({ resource }) => resource)))
  expect(new Set(RULED_RESOURCES).size).toBe(RULED_RESOURCES.length)
})

/** A config does something as a setting of these. */
const OWNERS = ['assistant', 'actions']

test('what each reference gives is said, by the rights that it takes', () => {
  const said = new Set(BY_REFERENCE.map(({ rights }) => rights.map((right) => right.join(' ')).join(', ')))
  const taken = allResources.flatMap(({ name, references, freeReferences = [] }) =>
    [...references, ...freeReferences]
      .filter(({ to, when }) => when?.field !== 'ownerType' || OWNERS.includes(to))
      .map(({ to, changes }) => `write ${name}, ${changes ? 'write' : 'read'} ${to}`),
  )
  expect(taken.filter((rights) => !said.has(rights))).toEqual([])
})
